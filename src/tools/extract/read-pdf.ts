import { type Extracted, noFacts, type PageFacts } from './extract-order.ts';
import { textCharsMax, tidyLine } from './plain-text.ts';

const pdfPagesMax = 500;

/** The used part of pdf.js. */
interface PdfDocument {
  numPages: number;
  getPage(number: number): Promise<{ getTextContent(): Promise<{ items: readonly object[] }> }>;
}

/** The text of a PDF, page after page; `unfit` in words where nothing of it can be read. */
export async function readPdf(body: Uint8Array<ArrayBuffer>): Promise<Omit<Extracted, 'rawHtml'> | { unfit: string }> {
  // At the first PDF: its library is large.
  const { getDocumentProxy, getMeta } = await import('unpdf');
  try {
    const document = await getDocumentProxy(body, { disableFontFace: true });
    const { info } = await getMeta(document).catch(() => ({ info: {} as Record<string, unknown> }));
    const { text, warnings } = await textOf(document);
    return { markdown: text, text, html: '', links: [], facts: factsIn(info), warnings };
  } catch (error) {
    // pdf.js says it by the name of its error.
    const isLocked = error instanceof Error && error.name === 'PasswordException';
    return { unfit: isLocked ? 'the PDF is locked with a password' : 'the PDF is damaged or cut off' };
  }
}

/** Throws where no page of it can be read. */
async function textOf(document: PdfDocument): Promise<{ text: string; warnings: string[] }> {
  const warnings: string[] = [];
  const broken: number[] = [];
  const pages: string[] = [];
  let chars = 0;
  const count = Math.min(document.numPages, pdfPagesMax);
  let number = 1;
  for (; number <= count && chars <= textCharsMax; number++) {
    try {
      const page = (await pageText(document, number)).trim();
      chars += page.length + 2;
      if (page !== '') pages.push(page);
    } catch (error) {
      broken.push(number);
      if (broken.length === count) throw error;
    }
  }
  if (chars > textCharsMax) warnings.push(`Only the first ${textCharsMax} characters are given.`);
  else if (count < document.numPages) {
    warnings.push(`Only the first ${count} of its ${document.numPages} pages were read.`);
  }
  if (broken.length > 0) warnings.push(`The PDF is damaged: ${listed(broken)} could not be read.`);
  else if (pages.length === 0) warnings.push('The PDF has no text: its pages are images.');
  return { text: pages.join('\n\n').slice(0, textCharsMax), warnings };
}

async function pageText(document: PdfDocument, number: number): Promise<string> {
  const { items } = await (await document.getPage(number)).getTextContent();
  let text = '';
  for (const item of items) if ('str' in item) text += `${item.str}${'hasEOL' in item && item.hasEOL ? '\n' : ''}`;
  return text;
}

function listed(numbers: readonly number[]): string {
  const shown = numbers.slice(0, 10).join(', ');
  return numbers.length === 1
    ? `page ${shown}`
    : `${numbers.length} pages (${shown}${numbers.length > 10 ? ', …' : ''})`;
}

function factsIn(info: Record<string, unknown>): PageFacts {
  const text = (name: string) => (typeof info[name] === 'string' ? tidyLine(info[name]) : null);
  return { ...noFacts, title: text('Title'), description: text('Subject'), language: text('Language') };
}
