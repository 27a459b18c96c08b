import { isElement, isText, type PageNode } from './page-document.ts';
import { dollars, rewriteMarks, textOfMarks } from './text-marks.ts';

/** Marks a line break until white space has been tidied: no page can hold it, for it is taken out of texts. */
const lineBreak = '\ue000';

/** Markdown of a run of text and inline elements; '' when there is nothing to read. */
export function writeInline(nodes: Iterable<PageNode>): string {
  const tidy = inline(nodes)
    .replace(/[ \t\r\n\f\u00a0]+/g, ' ')
    .replace(/ ?\ue000 ?/g, lineBreak);
  const paragraphs = split(tidy).words.split(/\ue000{2,}/);
  return paragraphs.map((words) => words.split(lineBreak).map(escapeLineStart).join('  \n')).join('\n\n');
}

function inline(nodes: Iterable<PageNode>): string {
  let text = '';
  for (const node of nodes) {
    if (isText(node)) text += escapeText(node.textContent ?? '');
    else if (isElement(node)) {
      const within = () => inline(node.childNodes);
      switch (node.localName) {
        case 'br':
          text += lineBreak;
          break;
        case 'strong':
        case 'b':
          text += around(within(), '**');
          break;
        case 'em':
        case 'i':
          text += around(within(), '*');
          break;
        case 'del':
        case 's':
        case 'strike':
          text += around(within(), '~~');
          break;
        case 'code':
        case 'kbd':
        case 'samp':
        case 'tt':
          text += codeSpan(node.textContent ?? '');
          break;
        case 'q':
          text += `"${within()}"`;
          break;
        case 'a':
          text += linkOf(within(), node.getAttribute('href'), node.getAttribute('title'));
          break;
        case 'img':
          text += imageOf(node.getAttribute('alt'), node.getAttribute('src'));
          break;
        case 'input':
          if (node.getAttribute('type') === 'checkbox') text += node.getAttribute('checked') === null ? '[ ] ' : '[x] ';
          break;
        case 'math':
          text += node.getAttribute('alttext') ?? escapeText(node.textContent ?? '');
          break;
        default:
          text += within();
      }
    }
  }
  return text;
}

/** White space around the words, by hand: a regular expression takes the square of a run's length. */
function split(text: string): { before: string; words: string; after: string } {
  const isSpace = (at: number) => text[at] === lineBreak || text.charAt(at).trim() === '';
  let from = 0;
  while (from < text.length && isSpace(from)) from += 1;
  let to = text.length;
  while (to > from && isSpace(to - 1)) to -= 1;
  return { before: text.slice(0, from), words: text.slice(from, to), after: text.slice(to) };
}

/** The marks touch the words, with white space outside. Empty text gets no marks. */
function around(text: string, mark: string): string {
  const { before, words, after } = split(text);
  if (words === '') return text;
  return words.startsWith(mark) && words.endsWith(mark) ? text : `${before}${mark}${words}${mark}${after}`;
}

function codeSpan(text: string): string {
  const tidy = textOfMarks(text).replaceAll(lineBreak, '').replace(/\s+/g, ' ').trim();
  if (tidy === '') return '';
  const runs = tidy.match(/`+/g) ?? [];
  const fence = '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length), 0) + 1);
  const pad = tidy.startsWith('`') || tidy.endsWith('`') ? ' ' : '';
  return `${fence}${pad}${tidy}${pad}${fence}`;
}

/** Markdown of a link around `text`; the text alone where it leads nowhere. */
export function linkOf(text: string, href: string | null, title: string | null): string {
  const { before, words, after } = split(text);
  if (words === '' || href === null || href === '') return text;
  const label = words.replaceAll(lineBreak, ' ');
  const shown = title === null || title === '' ? '' : ` "${title.replace(/\s+/g, ' ').replaceAll('"', "'")}"`;
  return `${before}[${label}](${addressOf(href)}${shown})${after}`;
}

function imageOf(alt: string | null, src: string | null): string {
  if (src === null || src === '') return '';
  return `![${escapeText((alt ?? '').replace(/\s+/g, ' ').trim())}](${addressOf(src)})`;
}

function addressOf(url: string): string {
  return url.trim().replaceAll('(', '%28').replaceAll(')', '%29').replace(/\s/g, '%20');
}

/** Text of the page that markdown would read as markup. */
function escapeText(text: string): string {
  return rewriteMarks(text, (piece) => {
    if (piece.kind === 'note') return `[^${piece.number}]`;
    return piece.kind === 'formula' ? dollars(piece.tex, piece.display) : escapeWords(piece.text);
  });
}

function escapeWords(text: string): string {
  return (
    text
      .replaceAll(lineBreak, '')
      .replace(/[\\`*[\]]|&(?=#?\w{1,31};)/g, '\\$&')
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      // An entity ends a text: the next text is not visible from here.
      .replace(/<(?=[A-Za-z/!]|$)/g, '\\<')
  );
}

function escapeLineStart(line: string): string {
  return line.replace(/^(?=#{1,6} |[-+] |-{3,}$|={2,}$|>|~~~)/, '\\').replace(/^(\d{1,9})(?=[.)] )/, '$1\\');
}
