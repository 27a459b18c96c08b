/**
 * The first tool of each name: Anthropic, Google and Bedrock refuse a second one, which clients with several MCP servers
 * send. The same list when there is none.
 */
export function distinctTools<T extends object & { name?: unknown }>(tools: readonly T[]): readonly T[] {
  const names = new Set<unknown>();
  const distinct = tools.filter(({ name }) => name === undefined || (!names.has(name) && names.add(name)));
  return distinct.length === tools.length ? tools : distinct;
}
