/** Longer tags are cut. */
const tagCharsMax = 64;

/** What callers sum their use by, from the header `x-culvert-tag`; null without one. */
export function tagOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  const text = typeof header === 'string' ? header : (header[0] ?? '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim();
  return clean === '' ? null : clean.slice(0, tagCharsMax).toWellFormed();
}
