import { type Extracted, noFacts, type PageFacts } from './extract-order.ts';
import { textCharsMax, tidyLine } from './plain-text.ts';

const pdfPagesMax = 500;

/** The text of a PDF, page after page. Throws for what cannot be read. */
export async function readPdf(body: Uint8Array<ArrayBuffer>): Promise<Omit<Extracted, 'rawHtml'>> {
  // At the first PDF: its library is large.
  const { extractText, getDocumentProxy, getMeta } = await import('unpdf');
  const document = await getDocumentProxy(body, { disableFontFace: true });
  const { info } = await getMeta(document).catch(() => ({ info: {} as Record<string, unknown> }));
  const warnings: string[] = [];
  const { text, totalPages } = await extractText(document, { mergePages: false });
  const pages = (text as string[]).slice(0, pdfPagesMax).map((page) => page.trim());
  if (totalPages > pages.length) warnings.push(`Only the first ${pages.length} of its ${totalPages} pages were read.`);
  let all = pages.filter((page) => page !== '').join('\n\n');
  if (all === '') warnings.push('The PDF holds no text: its pages are pictures.');
  if (all.length > textCharsMax) {
    all = all.slice(0, textCharsMax);
    warnings.push(`Only the first ${textCharsMax} characters are given.`);
  }
  return { markdown: all, text: all, html: '', links: [], facts: factsIn(info), warnings };
}

function factsIn(info: Record<string, unknown>): PageFacts {
  const text = (name: string) => (typeof info[name] === 'string' ? tidyLine(info[name]) : null);
  return { ...noFacts, title: text('Title'), description: text('Subject'), language: text('Language') };
}
