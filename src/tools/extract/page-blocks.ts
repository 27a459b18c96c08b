import type { PageElement } from './page-document.ts';

const blocks = new Set(
  (
    'address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary ' +
    'table tbody tfoot thead tr ul'
  ).split(' '),
);

/** Elements that begin and end a line. */
export function isBlock(name: string): boolean {
  return blocks.has(name);
}

const unreadSelector =
  'script, style, noscript, template, iframe, object, embed, svg, canvas, base, link, meta, title, select, button, dialog:not([open]), [hidden], [aria-hidden="true"], .mw-editsection';

/** Removes the parts of `root` that nobody reads. */
export function withoutUnread(root: PageElement): PageElement {
  for (const element of [...root.querySelectorAll(unreadSelector)]) element.remove();
  return root;
}
