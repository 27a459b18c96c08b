import type { PageDocument } from './page-document.ts';

/** Keeps in `data-align` which way cells are set: extractors take styles away. */
export function tidyTables(document: PageDocument): void {
  for (const cell of document.querySelectorAll('th[align], th[style], td[align], td[style]')) {
    const declared =
      /text-align:\s*(left|center|right)/i.exec(cell.getAttribute('style') ?? '')?.[1] ?? cell.getAttribute('align');
    const align = declared?.toLowerCase() ?? '';
    if (/^(?:left|center|right)$/.test(align)) cell.setAttribute('data-align', align);
  }
}
