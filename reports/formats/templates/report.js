// Sorts and filters tables, and shows what a word means. The page has all of it without this script.
(() => {
  'use strict';

  const number = text => {
    const found = text.replace(/(\d)[ \u00a0](?=\d{3}(?!\d))/g, '$1').match(/^[+-]?\d+(\.\d+)?/);
    return found ? Number(found[0]) : NaN;
  };

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort ?? cell.textContent.trim();
  };

  const compared = (one, other, way) => {
    const [a, b] = [number(one), number(other)];
    if (Number.isNaN(a) !== Number.isNaN(b)) return Number.isNaN(a) ? 1 : -1; // what is no number comes last
    return way * (Number.isNaN(a) ? one.localeCompare(other) : a - b);
  };

  const sortable = table => {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0], first = [...body.rows];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'sort';
      button.setAttribute('aria-label', `Sort by ${head.textContent}`);
      button.addEventListener('click', () => {
        const order = { none: 'ascending', ascending: 'descending', descending: 'none' }[head.getAttribute('aria-sort') ?? 'none'];
        heads.forEach(other => other.setAttribute('aria-sort', 'none'));
        head.setAttribute('aria-sort', order);
        const way = order === 'descending' ? -1 : 1;
        const rows = order === 'none' ? first
          : [...first].sort((a, b) => compared(valueOf(a, column), valueOf(b, column), way));
        body.append(...rows);
      });
      head.append(button);
    });
  };

  const filterable = table => {
    const field = document.createElement('input');
    field.type = 'search';
    field.className = 'filter';
    field.placeholder = 'Rows that contain';
    field.setAttribute('aria-label', 'Show rows that contain');
    field.addEventListener('input', () => {
      const wanted = field.value.trim().toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.closest('.wide').before(field);
  };

  for (const table of document.querySelectorAll('table')) {
    const rows = table.tBodies[0].rows.length;
    if (rows > 2) sortable(table);
    if (rows > 7) filterable(table);
  }

  const bubble = document.createElement('div');
  bubble.id = 'meaning';
  bubble.className = 'meaning';
  bubble.setAttribute('role', 'tooltip');
  bubble.hidden = true;
  document.body.append(bubble);

  const hide = () => { bubble.hidden = true; };

  const show = term => {
    bubble.textContent = document.querySelector(term.hash).nextElementSibling.textContent;
    bubble.hidden = false;
    const at = term.getBoundingClientRect();
    const widest = document.documentElement.clientWidth - bubble.offsetWidth - 8;
    bubble.style.left = `${window.scrollX + Math.max(8, Math.min(at.left, widest))}px`;
    bubble.style.top = `${window.scrollY + at.bottom + 4}px`;
  };

  for (const term of document.querySelectorAll('a.term')) {
    term.setAttribute('aria-describedby', bubble.id);
    for (const event of ['mouseenter', 'focus']) term.addEventListener(event, () => show(term));
    for (const event of ['mouseleave', 'blur']) term.addEventListener(event, hide);
  }
  document.addEventListener('keydown', event => { if (event.key === 'Escape') hide(); });
})();
