/** Betas of Anthropic that the clouds spell otherwise (its page "Tool search tool"). */
const elsewhere: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** Names of the header `anthropic-beta`, each once, as a cloud spells them, and those of them that it knows. */
export function knownBetas(header: string, known: RegExp): { names: readonly string[]; known: readonly string[] } {
  const written = header.split(',').map((name) => name.trim());
  const names = [...new Set(written.filter((name) => name !== '').map((name) => elsewhere.get(name) ?? name))];
  return { names, known: names.filter((name) => known.test(name)) };
}
