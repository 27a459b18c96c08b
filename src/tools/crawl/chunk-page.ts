import { uuidOf } from '../../kernel/ids.ts';
import type { ScrapedPage } from '../scrape/scraped-page.ts';
import type { CrawlPoint } from './crawl-ports.ts';

/** About 400 tokens: what embedding models take whole, and what answers a question in a prompt. */
const chunkChars = 1_600;
/** Most chunks of one page that are put into a collection: a book is cut off. */
export const chunksMax = 200;

/**
 * A page in pieces for a vector collection: cut at headings, then between paragraphs, each with the headings above it.
 * Payload: url, title, heading, chunk, text.
 */
export function chunksOf(url: string, { markdown, metadata }: ScrapedPage): CrawlPoint[] {
  const sections = sectionsOf(markdown ?? '');
  const pieces = sections.flatMap(({ heading, text }) => piecesOf(text).map((piece) => ({ heading, text: piece })));
  return pieces.map(({ heading, text }, at) => ({
    id: uuidOf('culvert crawl', `${url}\n${at}`),
    text: heading === '' ? text : `${heading}\n\n${text}`,
    payload: { url, title: metadata.title, heading, chunk: at, text },
  }));
}

interface Section {
  /** `Guide > Install`; '' above the first. */
  heading: string;
  text: string;
}

function sectionsOf(markdown: string): Section[] {
  const sections: Section[] = [];
  const path: string[] = [];
  let lines: string[] = [];
  let fenced = false;
  const close = () => {
    const text = lines.join('\n').trim();
    if (text !== '') sections.push({ heading: path.filter(Boolean).join(' > '), text });
    lines = [];
  };
  for (const line of markdown.split('\n')) {
    if (/^\s{0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const [, marks, heading = ''] = (!fenced && /^(#{1,6}) (.{1,200})/u.exec(line)) || [];
    if (marks === undefined) {
      lines.push(line);
      continue;
    }
    close();
    path.length = Math.min(path.length, marks.length - 1);
    path[marks.length - 1] = heading.trim();
  }
  close();
  return sections;
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const paragraph of text.split(/\n{2,}/).flatMap(parts)) {
    if (piece !== '' && piece.length + paragraph.length + 2 > chunkChars) {
      pieces.push(piece);
      piece = '';
    }
    piece = piece === '' ? paragraph : `${piece}\n\n${paragraph}`;
  }
  if (piece.trim() !== '') pieces.push(piece);
  return pieces;
}

/** A paragraph that is too long alone, cut at spaces. */
function parts(paragraph: string): string[] {
  const found: string[] = [];
  let rest = paragraph;
  while (rest.length > chunkChars) {
    const space = rest.lastIndexOf(' ', chunkChars);
    const at = space > chunkChars / 2 ? space : endOfCharacter(rest, chunkChars);
    found.push(rest.slice(0, at));
    rest = rest.slice(at).trimStart();
  }
  return rest === '' ? found : [...found, rest];
}

/** `end`, or one less where it would cut a character in two: collections refuse the halves. */
function endOfCharacter(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}
