/** Ten entities, each ten times the one before: a gigabyte where they are taken at their word. */
export function laughingXml(): string {
  const entities = Array.from({ length: 10 }, (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`).join('');
  return `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">${entities}]><lolz>&l10;</lolz>`;
}

function pdf(objects: readonly string[], trailer: string): string {
  let text = '%PDF-1.4\n';
  const places = objects.map((object, at) => {
    const place = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = text.length;
  return `${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join('')}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${table}\n%%EOF`;
}

const catalog = '<< /Type /Catalog /Pages 2 0 R >>';

/** Encrypted with a password that is not empty. */
export function lockedPdf(): string {
  const key = `<${'ab'.repeat(32)}>`;
  return pdf(
    [
      catalog,
      '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>',
      `<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O ${key} /U ${key} >>`,
    ],
    `/Encrypt 4 0 R /ID [<${'00'.repeat(16)}> <${'00'.repeat(16)}>]`,
  );
}

/** Its tree of pages has no leaf. */
export function circularPdf(): string {
  return pdf([catalog, '<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>'], '');
}

/** A line of text a page; a page of null is named and not there. */
export function textPdf(lines: readonly (string | null)[]): string {
  const pages = lines.flatMap((line, at) => {
    const content = `BT /F1 24 Tf 72 700 Td (${line}) Tj ET`;
    const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${5 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`;
    return [line === null ? 'null' : page, `<< /Length ${content.length} >>\nstream\n${content}\nendstream`];
  });
  const kids = lines.map((_, at) => `${4 + 2 * at} 0 R`).join(' ');
  const tree = `<< /Type /Pages /Kids [${kids}] /Count ${lines.length} >>`;
  return pdf([catalog, tree, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>', ...pages], '');
}
