// Makes pages quicker; every page works without it.

// A button with data-copy="ID" copies the text of the element with that id.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.dataset.said = 'Copied';
  } catch {
    button.dataset.said = 'Select the text and copy it';
  }
  setTimeout(() => delete button.dataset.said, 2000);
});
