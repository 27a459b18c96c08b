import { isElement, isText, type PageDocument, type PageElement, type PageNode } from './page-document.ts';

/** Code in one form, whichever highlighter wrote it: `pre` with its lines as text and its language in `data-lang`. */
export function tidyCode(document: PageDocument): void {
  const tables = new Set([...document.querySelectorAll('td pre')].map((pre) => pre.closest('table')));
  for (const table of tables) if (table !== null) unwrapNumbered(table);
  for (const pre of document.querySelectorAll('pre')) {
    for (const aside of [...pre.querySelectorAll(asides)]) {
      if (aside.localName === 'button' || /^\s*\d+\s*$/.test(aside.textContent ?? '')) aside.remove();
    }
    const language = languageOf(pre);
    if (language !== null) pre.setAttribute('data-lang', language);
    if (pre.querySelector('br, div, p, li, tr') !== null) {
      const lines = linesOf(pre);
      pre.replaceChildren(document.createTextNode(lines));
    }
  }
}

/** Numbers of lines, and a button that copies. */
const asides = '.lineno, .linenos, .line-number, .linenumber, .ln, .lnt, button';

/** A table of two cells, one of them line numbers. */
function unwrapNumbered(table: PageElement): void {
  const cells = [...table.querySelectorAll('td')];
  if (cells.length !== 2) return;
  const [numbers, code] = cells as [PageElement, PageElement];
  const pre = code.querySelector('pre');
  if (pre === null || !/^[\d\s]+$/.test(numbers.textContent ?? '')) return;
  const language = languageOf(pre);
  if (language !== null) pre.setAttribute('data-lang', language);
  table.replaceWith(pre);
}

const wrapperLevels = 4;

/** The code, the block, or a highlighter's element around it. */
function languageOf(pre: PageElement): string | null {
  const code = pre.querySelector('code');
  let at: PageElement | null = pre;
  for (let level = 0; at !== null && level < wrapperLevels; level++) {
    const declared = declaredBy(at) ?? (at === pre && code !== null ? declaredBy(code) : null);
    if (declared !== null) return declared;
    at = at.parentNode as PageElement | null;
    if (at !== null && (at.nodeType !== 1 || !/^(?:div|figure|span|td|tr|tbody|table)$/.test(at.localName)))
      return null;
  }
  return null;
}

/** Classes that name a language. */
const named = [
  /(?:^|\s)(?:language-|lang-|(?:mw-)?highlight(?:-source|-text|-lang)?-|sourceCode\s+)([\w+#.-]{1,30})(?=\s|$)/,
  /brush:\s*([\w+#.-]{1,30})/,
  /(?:^|\s)hljs\s+([\w+#-]{1,30})/,
  /^highlight\s+([\w+#-]{1,30})$/,
];
const noLanguages =
  /^(?:source|highlight|none|plain|plaintext|default|highlighter-rouge|js-code-highlight|line-numbers|hljs|code)$/;

function declaredBy(element: PageElement): string | null {
  const attribute =
    element.getAttribute('data-lang') ??
    element.getAttribute('data-language') ??
    (element.localName === 'pre' ? element.getAttribute('lang') : null);
  const classes = element.getAttribute('class') ?? '';
  const declared = attribute ?? named.map((form) => form.exec(classes)?.[1]).find((found) => found !== undefined);
  if (declared === undefined || !/^[\w+#.-]{1,30}$/.test(declared) || noLanguages.test(declared)) return null;
  return declared;
}

function linesOf(parent: PageNode): string {
  let text = '';
  for (const child of parent.childNodes) {
    if (isText(child)) text += child.textContent ?? '';
    else if (isElement(child)) {
      if (child.localName === 'br') text += '\n';
      else if (/^(?:div|p|li|tr)$/.test(child.localName)) {
        if (text !== '' && !text.endsWith('\n')) text += '\n';
        text += linesOf(child);
        if (!text.endsWith('\n')) text += '\n';
      } else text += linesOf(child);
    }
  }
  return text;
}
