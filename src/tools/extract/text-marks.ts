/**
 * Formulas and marks of notes pass through the extractors as text between characters of a private area, which no
 * extractor changes, and which are taken out of pages before.
 */
export const marks = { inline: '\ue001', display: '\ue002', formulaEnd: '\ue003', note: '\ue004', noteEnd: '\ue005' };

export type Marked =
  | { kind: 'text'; text: string }
  | { kind: 'formula'; tex: string; display: boolean }
  | { kind: 'note'; number: string };

/** Without soft hyphens, too: they would part the words. */
export function withoutMarks(html: string): string {
  return html.replace(/[\u00ad\ue001-\ue005]|&shy;|&#(?:x0*(?:e00[1-5]|ad)|0*(?:5734[5-9]|173));?/gi, '');
}

export function formulaMark(tex: string, display: boolean): string {
  return `${display ? marks.display : marks.inline}${tex}${marks.formulaEnd}`;
}

export function noteMark(number: number): string {
  return `${marks.note}${number}${marks.noteEnd}`;
}

/** Rewrites a text piece by piece. */
export function rewriteMarks(text: string, write: (piece: Marked) => string): string {
  if (!/[\ue001-\ue005]/.test(text)) return write({ kind: 'text', text });
  return text
    .split(/([\ue001\ue002][^\ue001-\ue005]*\ue003|\ue004\d+\ue005)/)
    .map((piece) => {
      const within = piece.slice(1, -1);
      if (piece.startsWith(marks.note)) return write({ kind: 'note', number: within });
      const display = piece.startsWith(marks.display);
      if (display || piece.startsWith(marks.inline)) return write({ kind: 'formula', tex: within, display });
      return write({ kind: 'text', text: piece });
    })
    .join('');
}

/** `$…$` and `$$…$$`, as markdown has it. */
export function dollars(tex: string, display: boolean): string {
  return display ? `$$${tex}$$` : `$${tex}$`;
}

/** Writes the marks in a page's HTML, whose texts are escaped already. */
export function htmlOfMarks(html: string): string {
  return rewriteMarks(html, (piece) => {
    if (piece.kind === 'text') return piece.text;
    if (piece.kind === 'note') return `<sup><a href="#fn-${piece.number}">${piece.number}</a></sup>`;
    return piece.display
      ? `<span class="math display">\\[${piece.tex}\\]</span>`
      : `<span class="math inline">\\(${piece.tex}\\)</span>`;
  });
}

export function textOfMarks(text: string): string {
  return rewriteMarks(text, (piece) => {
    if (piece.kind === 'text') return piece.text;
    return piece.kind === 'note' ? `[${piece.number}]` : dollars(piece.tex, piece.display);
  });
}
