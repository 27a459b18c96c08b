import { decodePage } from './decode-page.ts';
import { type Extracted, type ExtractOrder, type ExtractReply, noFacts } from './extract-order.ts';
import { onlyFirst, plainHtml, textCharsMax } from './plain-text.ts';
import { readJson, readText, readXml } from './read-data.ts';
import { readHtml, WrongSelector } from './read-html.ts';
import { readPdf } from './read-pdf.ts';
import { UnfitPage } from './scan-html.ts';

/** Above it a page is given as plain text: finding its main content would take too long. */
const documentCharsMax = 1_500_000;
const rawCharsMax = 10 * 1024 * 1024;

/** All the work of a thread for one order. Throws only for a fault of ours or of a library. */
export async function extractPage(order: ExtractOrder): Promise<ExtractReply> {
  const { id, kind, body, contentType, options } = order;
  if (kind === 'pdf') {
    const read = await readPdf(body);
    return 'unfit' in read ? { id, unfit: read.unfit } : { id, extracted: { ...read, rawHtml: null } };
  }
  const text = decodePage(body, contentType);
  try {
    const read = readPage(order, text);
    const rawHtml = options.rawHtml ? text.slice(0, rawCharsMax) : null;
    return { id, extracted: { ...bounded(read), rawHtml } };
  } catch (error) {
    if (error instanceof UnfitPage) return { id, unfit: error.message };
    if (error instanceof WrongSelector) return { id, wrong: { field: error.field, message: error.message } };
    throw error;
  }
}

type Read = Omit<Extracted, 'rawHtml'>;

function readPage({ kind, url, way, options }: ExtractOrder, text: string): Read {
  if (kind === 'json') return readJson(text);
  if (kind === 'text' || kind === 'pdf') return readText(text);
  if (way === 'plain') return plainHtml(text, url, options.onlyMainContent && options.includeTags === null);
  if (text.length > documentCharsMax) throw new UnfitPage(`it has more than ${documentCharsMax} characters`);
  if (text.trim() === '') return { markdown: '', text: '', html: '', links: [], facts: noFacts, warnings: [] };
  return kind === 'xml' ? readXml(text, url) : readHtml(text, url, options);
}

function bounded(read: Read): Read {
  const { markdown, text, html, warnings } = read;
  const cut = onlyFirst(textCharsMax, 'characters');
  const isCut = markdown.length > textCharsMax || text.length > textCharsMax || html.length > 2 * textCharsMax;
  return {
    ...read,
    markdown: markdown.slice(0, textCharsMax),
    text: text.slice(0, textCharsMax),
    html: html.slice(0, 2 * textCharsMax),
    warnings: isCut && !warnings.includes(cut) ? [...warnings, cut] : warnings,
  };
}
