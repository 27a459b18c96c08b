import { z } from 'zod';
import { duration, httpUrl, positiveInt, secret, size, someText } from '../scalars.ts';
import { dataFactsSchema } from './schema-data.ts';
import { cachedAnswerMembers } from './schema-models.ts';
import { proxySchema, tlsSchema } from './schema-route.ts';

/** The vector store. */
export const vectorsSchema = z
  .strictObject({
    engine: z
      .enum(['embedded', 'qdrant'])
      .default('embedded')
      .describe('`embedded` (in the data folder) or a Qdrant cluster.'),
    url: httpUrl().optional().describe("Qdrant's address."),
    api_key: secret().optional().describe("Qdrant's key."),
    proxy: proxySchema('Qdrant'),
    tls: tlsSchema('at the start'),
    memory: size().prefault('1gb').describe('Memory for indexes; larger collections are served from disk, slower.'),
    workers: z
      .union([z.literal('auto'), z.int().min(1).max(64)], { error: 'expected auto or a whole number of at least 1' })
      .default('auto')
      .describe('Worker threads.'),
    search_threads: z
      .union([z.literal('auto'), z.int().min(1).max(8)], { error: 'expected auto or a whole number from 1 to 8' })
      .default('auto')
      .describe(
        'Threads that a search of a large embedded collection may use while they are idle, its own included. auto: one for each core but one, at most 8.',
      ),
    limits: z
      .strictObject({
        collections: positiveInt().default(1_000).describe('Collections an account may have.'),
        points_per_call: positiveInt(10_000).default(10_000).describe('Points one call may write.'),
      })
      .prefault({})
      .describe('Bounds on vector data.'),
    stores: z
      .strictObject({
        embedding_model: someText()
          .default('culvert-lexical-1024')
          .describe('Model that embeds the files of a new store. The built-in one compares words, not meanings.'),
        files: positiveInt(100_000).default(10_000).describe('Files a store may have.'),
      })
      .prefault({})
      .describe("Stores of files for OpenAI's clients (`/v1/vector_stores`)."),
  })
  .describe('These keys are about the vector store.');

const searchProviderSchema = z.strictObject({
  type: z
    .enum(['searxng', 'brave', 'tavily', 'serper', 'exa', 'corpus'])
    .describe('The engine; corpus: pages that the key scraped or crawled.'),
  base_url: httpUrl().optional().describe('Where it is; searxng needs it, the others have their own.'),
  api_key: secret().optional().describe('Its key.'),
  priority: z.int().min(1).max(100).default(1).describe('1 is tried first.'),
  data: dataFactsSchema,
});

/** Web search, scraping and crawling. */
export const toolsSchema = z
  .strictObject({
    model: someText()
      .optional()
      .describe('Model that writes the formats summary and json; default: the first chat model of the key.'),
    search: z
      .strictObject({
        providers: z
          .array(searchProviderSchema)
          .max(20)
          .default([])
          .describe('Search engines, tried by their priority.'),
        cache: z
          .strictObject(cachedAnswerMembers)
          .optional()
          .describe(
            'Keeps complete answers of search engines, and gives them to equal searches. Default: hits of engines stay in memory for ten minutes, for the same key.',
          ),
      })
      .prefault({})
      .describe('Web search.'),
    scrape: z
      .strictObject({
        render: z
          .enum(['auto', 'never', 'always'])
          .default('auto')
          .describe(
            'Rendering in Chromium where a call says nothing: where it is needed, never (nor when asked), always.',
          ),
        render_without_sandbox: z
          .boolean()
          .default(false)
          .describe(
            'Where Chromium has no sandbox (the server runs as root), render pages too for which no call asked it.',
          ),
        chromium: someText().optional().describe('Path of the Chromium binary; default: the usual places.'),
        max_bytes: size({ max: '1gb' }).prefault('10mb').describe('Maximum size of a page after decompression.'),
      })
      .prefault({})
      .describe('Scraping of single pages.'),
    crawl: z
      .strictObject({
        max_pages: positiveInt(1_000_000).default(1_000).describe('Most pages of one crawl.'),
        max_concurrency: positiveInt(16).default(10).describe('Most pages of one crawl that are read concurrently.'),
        delay: duration({ max: '1h' }).prefault('500ms').describe('Least pause between two pages of one host.'),
        retention: duration({ min: '1h' }).prefault('7d').describe('How long results are kept.'),
      })
      .prefault({})
      .describe('Crawling of whole sites.'),
  })
  .describe('Web search, scraping and crawling.');
