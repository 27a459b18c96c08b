import type { PageDocument, PageElement } from './page-document.ts';
import { tidyLine } from './plain-text.ts';
import { removeBlocks } from './remove-blocks.ts';
import { textBlocksOf } from './text-blocks.ts';

/** The heading of the page's subject: many sites have their own name as the first heading. */
export function headingOf(document: PageDocument): string | null {
  const within = document.querySelector('article h1, main h1, [role="main"] h1');
  if (within !== null) return tidyLine(within.textContent);
  const title = tidyLine(document.querySelector('title')?.textContent)?.toLowerCase() ?? '';
  const all = [...document.querySelectorAll('h1')].map((one) => ({
    text: tidyLine(one.textContent) ?? '',
    framed: one.closest(frame) !== null,
  }));
  const headings = all.filter(({ text, framed }) => text !== '' && !framed);
  const named = headings.find(({ text }) => title.includes(text.toLowerCase())) ?? headings[0];
  // A title begins with the page's subject; the site's name comes last.
  const above = all.find(({ text, framed }) => framed && text !== '' && title.startsWith(text.toLowerCase()));
  return (named ?? above)?.text ?? null;
}

const frame = 'nav, header, footer, aside, [role="banner"]';

/** The main content comes without the page's own heading, or with one that has become a second. */
export function restoreHeading(main: PageElement, heading: string | null): void {
  if (heading === null || main.querySelector('h1') !== null) return;
  const second = main.querySelector('h2');
  const same = second !== null && tidyLine(second.textContent) === heading ? second : null;
  const html = same === null ? escapeHtml(heading) : same.innerHTML;
  same?.remove();
  const first = textBlocksOf(main).slice(0, 3);
  removeBlocks(
    main,
    first.filter(({ text }) => tidyLine(text) === heading),
  );
  main.innerHTML = `<h1>${html}</h1>${main.innerHTML}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
