/** Converse's words for kinds of documents, by media type. */
export const documentFormats: ReadonlyMap<string, string> = new Map([
  ['application/pdf', 'pdf'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['text/html', 'html'],
  ['text/markdown', 'md'],
  ['application/json', 'txt'],
]);

const mediaTypes = new Map([...documentFormats].map(([mediaType, format]) => [format, mediaType]));

/** Media type of a document of this format; plain text for one that is not known. */
export function mediaTypeOf(format: string): string {
  return format === 'txt' ? 'text/plain' : (mediaTypes.get(format) ?? 'text/plain');
}
