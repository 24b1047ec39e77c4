// Search of pages that are opened as files, for which browsers start no worker: its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.frame = frame.contentWindow
      this.ready = new Promise((resolve) => (this.frame.ready = resolve))
      this.frame.answer = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      const page = this.frame.document
      page.open()
      page.write(`<script>postMessage = answer; importScripts = () => {}</script><script src="${url}"></script><script>ready()</script>`)
      page.close()
    }
    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new this.frame.MessageEvent("message", { data })))
    }
    terminate() {}
  }
}
