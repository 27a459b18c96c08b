import type { Route } from '../../exchange.ts';
import { firecrawlErrors, toolErrors } from './tool-errors.ts';

/** A place where the web tools are served, and in whose words. */
export interface ToolMount {
  /** Prefix of their paths. */
  at: string;
  /** Whose requests and answers: ours, or one of Firecrawl's two APIs. */
  api: 'culvert' | 'firecrawl-v2' | 'firecrawl-v1';
  dialect: Route['dialect'];
}

/**
 * Ours; below it Firecrawl's, for SDKs that keep a base path; and Firecrawl's at the root, because firecrawl-py drops
 * the path of its base URL. Nothing else of the gateway has these names below `/v1`.
 */
export const toolMounts: readonly ToolMount[] = [
  { at: '/v1/tools', api: 'culvert', dialect: toolErrors },
  ...['/v1/tools', ''].flatMap(
    (base) =>
      [
        { at: `${base}/v2`, api: 'firecrawl-v2', dialect: firecrawlErrors },
        { at: `${base}/v1`, api: 'firecrawl-v1', dialect: firecrawlErrors },
      ] as const,
  ),
];
