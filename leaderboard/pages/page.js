// Makes pages quicker; every page works without it.

// A button with data-copy="ID" copies the text of the element with that id, or where a link leads.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const copied = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(copied.href || copied.textContent);
    button.dataset.said = 'Copied';
  } catch {
    button.dataset.said = 'Select the text and copy it';
  }
  setTimeout(() => delete button.dataset.said, 2000);
});

// A table or matrix that is wider than the page says that it scrolls.
const sayWide = () => {
  for (const box of document.querySelectorAll('.sb-scroll, .sb-grid-box')) box.toggleAttribute('data-wide', box.scrollWidth > box.clientWidth + 1);
};
sayWide();
addEventListener('resize', sayWide);

// The board: search, chips, sort links and pages fetch the rows alone. The address is all that a table shows.
(() => {
  const form = document.getElementById('board-form'), rows = document.getElementById('board-rows');
  if (!form || !rows) return;
  const said = document.getElementById('board-said'), board = form.getAttribute('action');
  let asked = 0, shown = location.search;

  // As the links on the page are written (with_query in addresses.py): slash, colon and @ stay as they are.
  const question = (pairs) => '?' + String(pairs).replace(/%(?:2F|3A|40)/g, decodeURIComponent);

  async function show(search, remember = history.pushState) {
    const turn = ++asked;
    rows.setAttribute('aria-busy', 'true');
    let text;
    try {
      const answer = await fetch(rows.dataset.address + search);
      if (!answer.ok) throw new Error(answer.status);
      text = await answer.text();
    } catch {
      if (turn === asked) location.assign(board + search);
      return;
    }
    if (turn !== asked) return;
    const active = document.activeElement;
    const focused = active && rows.contains(active) ? active.id || active.textContent : '';
    rows.innerHTML = text;
    rows.removeAttribute('aria-busy');
    sayWide();
    if (focused) {
      const same = [...rows.querySelectorAll('a')].find((link) => (link.id || link.textContent) === focused);
      if (same) same.focus({ preventScroll: true });
    }
    said.textContent = rows.querySelector('.sb-count')?.textContent || 'No entry matches';
    if (remember) remember.call(history, null, '', board + search);
    shown = location.search;
  }

  // What the search adds to what is shown: the form's hidden fields name the board, the address all else.
  function search() {
    const pairs = new URLSearchParams(location.search);
    for (const [name, value] of new FormData(form)) if (!pairs.has(name)) pairs.set(name, value);
    pairs.delete('page');
    const words = form.elements.q.value;
    if (words) pairs.set('q', words); else pairs.delete('q');
    return question(pairs);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show(search());
  });
  // A letter is looked for at once, or as soon as the one before it has its rows.
  let isTyped = false, isAsking = false;
  form.addEventListener('input', async () => {
    isTyped = true;
    if (isAsking) return;
    isAsking = true;
    while (isTyped) {
      isTyped = false;
      await show(search(), history.replaceState);
    }
    isAsking = false;
  });
  rows.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-rows]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    show(new URL(link.href).search).then(() => {
      if (rows.getBoundingClientRect().top < 0) rows.scrollIntoView();
    });
  });
  addEventListener('popstate', () => {
    if (location.search === shown) return; // a link within the page, as to the table
    form.elements.q.value = new URLSearchParams(location.search).get('q') || '';
    show(location.search, null);
  });
})();

// The submit page: a file is checked as soon as it is chosen, and again when the card changes; the form fills itself.
(() => {
  const form = document.getElementById('submit-form'), answer = document.getElementById('submit-answer');
  if (!form || !answer) return;
  let asked = 0, isUnsent = false, timer;

  async function fetched(address, options) {
    let reply = await fetch(address, options);
    for (let next; (next = reply.headers.get('Refresh')); reply = await fetch(next.split('url=')[1])) {
      show(await page(reply), false);
      await new Promise((done) => setTimeout(done, 1000 * parseFloat(next)));
    }
    return reply;
  }
  const page = async (reply) => new DOMParser().parseFromString(await reply.text(), 'text/html');

  function show(sent, isDone) {
    const told = sent.getElementById('submit-answer') || sent.querySelector('main');
    if (told && answer.innerHTML !== told.innerHTML) answer.innerHTML = told.innerHTML;
    if (!isDone || !sent.getElementById('kept')) return;
    form.elements.kept.value = sent.getElementById('kept').value;
    document.getElementById('submit-kept').innerHTML = sent.getElementById('submit-kept').innerHTML;
    for (const field of form.querySelectorAll('.sb-plain-fields [name], [name=card]')) {
      const other = sent.getElementById(field.id), note = document.getElementById('about-' + field.name);
      if (!other || field === document.activeElement) continue;
      if (!field.value || field.name === 'card') field.value = other.value;
      field.placeholder = other.placeholder || '';
      if (note) note.innerHTML = sent.getElementById(note.id).innerHTML;
    }
  }

  async function check(changed) {
    const turn = ++asked, fields = new FormData(form);
    fields.set('do', 'check');
    if (!isUnsent) fields.delete('file');  // the server has it
    answer.setAttribute('aria-busy', 'true');
    try {
      const told = await page(await fetched(form.action, { method: 'POST', body: fields }));
      if (turn === asked) {
        isUnsent = false;
        show(told, true);
      }
      if (turn === asked && changed === 'card_file') form.elements.card_file.value = '';  // its fields are filled in
    } catch {
      if (turn === asked) answer.textContent = 'The file could not be sent: press Check to try again.';
    }
    if (turn === asked) answer.removeAttribute('aria-busy');
  }

  form.addEventListener('change', (event) => {
    clearTimeout(timer);
    const name = event.target.name;
    isUnsent ||= name === 'file';
    if (name === 'card_file' || form.elements.file.value || form.elements.kept.value) timer = setTimeout(() => check(name), 50);
  });
  form.addEventListener('submit', () => {
    if (form.elements.file.value && !isUnsent) form.elements.file.disabled = true;  // not sent twice
  });
})();

// A comparison that goes on: the page asks again and shows what has come, without loading anew.
(() => {
  const main = document.getElementById('main');
  let wait = 125;  // milliseconds, each twice the one before, up to 2 s
  async function look() {
    if (!document.getElementById('comparing')) return;
    try {
      const reply = await fetch(location.href), sent = new DOMParser().parseFromString(await reply.text(), 'text/html');
      const status = document.querySelector('#comparing [role=status]'), other = sent.querySelector('#comparing [role=status]');
      if (status && other) status.innerHTML = other.innerHTML;
      else main.replaceChildren(...sent.getElementById('main').childNodes), sayWide();
    } catch { /* the next look may reach the server again */ }
    setTimeout(look, wait = Math.min(2 * wait, 2000));
  }
  setTimeout(look, wait);
})();
