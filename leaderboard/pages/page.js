// Makes pages quicker; every page works without it.

// A button with data-copy="ID" copies the text of the element with that id; with data-absolute as a whole address.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const copied = document.getElementById(button.dataset.copy);
  const text = 'absolute' in copied.dataset ? new URL(copied.textContent, location.href).href : copied.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.dataset.said = 'Copied';
  } catch {
    button.dataset.said = 'Select the text and copy it';
  }
  setTimeout(() => delete button.dataset.said, 2000);
});

// The board: filters, sort links and pages fetch the rows alone.
(() => {
  const form = document.getElementById('board-form'), rows = document.getElementById('board-rows');
  if (!form || !rows) return;
  const said = document.getElementById('board-said'), board = form.getAttribute('action');
  let asked = 0, timer;

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
    const focused = document.activeElement && rows.contains(document.activeElement) ? document.activeElement.id : '';
    const box = rows.querySelector('.sb-scroll'), left = box ? box.scrollLeft : 0;
    rows.innerHTML = text;
    rows.removeAttribute('aria-busy');
    const next = rows.querySelector('.sb-scroll');
    if (next && left) next.scrollLeft = left;  // setting it at all would lay the page out at once
    if (focused) (document.getElementById(focused) || next || rows).focus({ preventScroll: true });
    said.textContent = rows.querySelector('.sb-count')?.textContent || 'Nothing matches';
    if (remember) remember.call(history, null, '', board + search);
  }

  function filters() {
    const pairs = new URLSearchParams();
    const columns = [];
    let changed = false;
    for (const [name, value] of new FormData(form)) {
      if (name === 'columns') columns.push(value);
      else if (value) pairs.append(name, value);
    }
    for (const box of form.querySelectorAll('input[name=columns]')) changed ||= box.checked !== ('default' in box.dataset);
    if (changed) pairs.append('columns', columns.join(','));
    return question(pairs);
  }

  // The form says what the rows show, also after a sort link or the browser's way back.
  function fill(search) {
    const pairs = new URLSearchParams(search);
    for (const name of ['q', 'paradigm', 'size', 'shots', 'selection', 'extra', 'origin', 'sort', 'order', 'x',
      'intervals', 'reported', 'picks', 'trained']) {
      const field = form.elements[name];
      if (field) field.value = pairs.get(name) || '';
    }
    const columns = pairs.get('columns');
    for (const box of form.querySelectorAll('input[name=columns]')) {
      box.checked = columns === null ? 'default' in box.dataset : columns.split(',').includes(box.value);
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    clearTimeout(timer);
    show(filters());
  });
  form.addEventListener('change', (event) => {
    if (event.target.name !== 'q') show(filters());
  });
  form.addEventListener('input', (event) => {
    if (event.target.name !== 'q') return;
    clearTimeout(timer);
    timer = setTimeout(() => show(filters(), history.replaceState), 30);
  });
  rows.addEventListener('click', (event) => {
    const link = event.target.closest('a[data-rows]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const pairs = new URLSearchParams(new URL(link.href).search);
    pairs.delete('picks');
    if (form.elements.picks.value) pairs.set('picks', form.elements.picks.value);
    const search = question(pairs);
    fill(search);
    show(search).then(() => {
      if (rows.getBoundingClientRect().top < 0) rows.scrollIntoView();
    });
  });
  // Picks go into the filters' form, which every question takes along.
  rows.addEventListener('change', (event) => {
    if (event.target.name !== 'id') return;
    const ids = [...rows.querySelectorAll('input[name=id]:checked')].map((box) => box.value);
    form.elements.picks.value = [...new Set(ids)].join(',');
    const pairs = new URLSearchParams(location.search);
    pairs.delete('picks');
    if (ids.length) pairs.set('picks', form.elements.picks.value);
    history.replaceState(null, '', board + (String(pairs) && question(pairs)));
  });
  addEventListener('popstate', () => {
    fill(location.search);
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
      if (turn === asked) answer.textContent = 'The file could not be sent: press Check.';
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
  async function look() {
    if (!document.getElementById('comparing')) return;
    try {
      const reply = await fetch(location.href), sent = new DOMParser().parseFromString(await reply.text(), 'text/html');
      const status = document.querySelector('#comparing [role=status]'), other = sent.querySelector('#comparing [role=status]');
      if (status && other) status.innerHTML = other.innerHTML;
      else main.replaceChildren(...sent.getElementById('main').childNodes);
    } catch { /* the next look may reach the server again */ }
    setTimeout(look, 2000);
  }
  setTimeout(look, 1000);
})();
