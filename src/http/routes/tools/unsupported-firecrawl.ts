import { refuse } from '../../../inference/spine/sink.ts';
import { admittedOf, type Exchange, type Route } from '../../exchange.ts';
import { keyRoute } from '../key-route.ts';
import type { UnsupportedCall } from '../unsupported-call.ts';
import { type ToolMount, toolMounts } from './tool-mounts.ts';

interface FirecrawlCall extends UnsupportedCall {
  /** For a call that only one of the two APIs has. */
  only?: ToolMount['api'];
}

const extract =
  'Extraction over several pages is not supported. Scrape a page, or a batch of pages, with formats: [{"type": "json", "schema": {…}, "prompt": "…"}].';
const agent =
  'Agents are not supported. Make one with POST /v1/chat/completions and tools, and use /mcp for the web tools.';
const browser = 'Browser sessions are not supported. Scrape with render: "always" and waitFor renders a page.';
const monitor = 'Monitors are not supported. Crawl again, and compare the pages.';
const parse =
  'Uploads are not parsed. Scrape the address of a file instead: Culvert reads HTML, PDF, text, JSON and XML.';
const research = 'This index is not supported. POST /v2/search asks the search engines of the server.';

/** Calls of Firecrawl's that Culvert does not do: they get a 501 that says what to do instead. */
const unsupportedCalls: readonly FirecrawlCall[] = [
  { path: '/extract', methods: ['POST'], message: extract },
  { path: '/extract/:id', methods: ['GET'], message: extract },
  { path: '/agent', methods: ['GET', 'POST'], message: agent, only: 'firecrawl-v2' },
  { path: '/agent/*', methods: ['GET', 'DELETE'], message: agent, only: 'firecrawl-v2' },
  { path: '/browser', methods: ['GET', 'POST'], message: browser, only: 'firecrawl-v2' },
  { path: '/browser/*', methods: ['POST', 'DELETE'], message: browser, only: 'firecrawl-v2' },
  { path: '/scrape/:id/interact', methods: ['POST', 'DELETE'], message: browser, only: 'firecrawl-v2' },
  { path: '/monitor', methods: ['GET', 'POST'], message: monitor, only: 'firecrawl-v2' },
  { path: '/monitor/*', methods: ['GET', 'POST', 'PATCH', 'DELETE'], message: monitor, only: 'firecrawl-v2' },
  { path: '/parse', methods: ['POST'], message: parse, only: 'firecrawl-v2' },
  { path: '/parse/formats', methods: ['GET'], message: parse, only: 'firecrawl-v2' },
  { path: '/search/*', methods: ['GET', 'POST'], message: research, only: 'firecrawl-v2' },
  {
    path: '/crawl/params-preview',
    methods: ['POST'],
    message: 'Culvert makes no parameters from a prompt. Give includePaths, excludePaths and limit.',
    only: 'firecrawl-v2',
  },
  { path: '/feedback', methods: ['POST'], message: 'Culvert takes no feedback.', only: 'firecrawl-v2' },
  {
    path: '/llmstxt',
    methods: ['POST'],
    message: 'Culvert makes no llms.txt. Crawl the site with scrapeOptions: {"formats": ["markdown", "summary"]}.',
    only: 'firecrawl-v1',
  },
  {
    path: '/deep-research',
    methods: ['POST'],
    message: 'Deep research is not supported. Search with scrapeOptions, and give the pages to a chat model.',
    only: 'firecrawl-v1',
  },
];

export function unsupportedFirecrawlRoutes(): Route[] {
  return toolMounts
    .filter(({ api }) => api !== 'culvert')
    .flatMap(({ at, api, dialect }) =>
      unsupportedCalls.flatMap(({ path, methods, message, only = api }) => {
        if (only !== api) return [];
        const handle = (exchange: Exchange) =>
          refuse(exchange.client, { kind: 'unsupported', message }, admittedOf(exchange).headers);
        return methods.map(
          (method): Route =>
            keyRoute(`${method} ${at + path}`, method === 'GET' ? 'free' : 'one', {
              endpoint: 'tools',
              dialect,
              summary: 'Not supported: 501',
              handle,
            }),
        );
      }),
    );
}
