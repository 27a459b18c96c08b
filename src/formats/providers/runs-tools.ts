import type { DialectId } from '../dialects/dialect.ts';
import type { ServerTool } from '../neutral/server-tool.ts';
import type { ProviderConnection } from './provider-connection.ts';

/** Models that search the web for each answer: `gpt-4o-search-preview`, Perplexity's. */
const searching = /\bsearch\b|\bsonar\b/i;

/**
 * Whether the provider runs all of these tools itself, for a caller whose format it is asked in. Where nobody says, the
 * vendors' newer formats are taken to have them; chat completions have a search in some models alone.
 */
export function runsTools(
  { serverTools }: Pick<ProviderConnection, 'serverTools'>,
  dialect: DialectId,
  model: string,
  tools: readonly ServerTool[],
): boolean {
  return tools.every((tool) => {
    // Only this gateway has its own collections, and the servers of its configuration.
    if (tool.kind === 'file_search' || (tool.kind === 'mcp' && tool.url === null)) return false;
    if (dialect === 'openai-chat' && tool.field !== 'web_search_options') return false;
    if (serverTools !== null) return serverTools.includes(tool.kind);
    if (tool.kind === 'web_fetch' && dialect !== 'anthropic-messages') return false;
    return dialect !== 'openai-chat' || searching.test(model);
  });
}
