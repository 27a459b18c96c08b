import { z } from 'zod';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { scrapeFormats } from '../scrape/scraped-page.ts';

/** The call of our own API behind a tool, which decides checks, costs and answers. */
export interface ApiCall {
  method: 'GET' | 'POST' | 'PUT';
  /** A row of the route table. */
  path: string;
  params: Readonly<Record<string, string>>;
  /** The query after `?`; '' for none. */
  search: string;
  body: JsonObject | null;
}

export interface McpTool {
  name: string;
  title: string;
  description: string;
  /** Schema for the assistant. The call itself checks its arguments, and its messages say more. */
  input: z.ZodType;
  annotations: { readOnlyHint: boolean; destructiveHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  /** A string: the fault of the arguments. */
  callOf(args: JsonObject): ApiCall | string;
  /** The text of an answer for the assistant, without the picture. */
  textOf(answer: JsonObject): string;
  /** The picture of an answer: a PNG in Base64, and the answer without it; null: there is none. */
  pictureOf?(answer: JsonObject): { png: string; rest: JsonObject } | null;
}

const reading = { readOnlyHint: true, destructiveHint: false, idempotentHint: true };
const formats = z.array(z.enum(scrapeFormats)).describe('What to return of a page. Default: markdown alone.');
/** Formats of many pages at once: a picture as text would be millions of characters for the assistant. */
const textFormats = z.array(z.enum(scrapeFormats).exclude(['screenshot'])).describe('What to return of each page.');
const collection = z.string().describe('Name of the vector collection.');
const filter = z.looseObject({}).describe('Conditions on payloads: must, should, must_not.');

const json = (value: JsonValue) => JSON.stringify(value, null, 1);
const whole = (answer: JsonObject) => json(answer);

function post(path: string, body: JsonObject): ApiCall {
  return { method: 'POST', path, params: {}, search: '', body };
}

const collectionMissing = "'collection' must be the name of a vector collection.";

/** A call on a collection: its name is in the path, all else in the body. */
function onCollection(method: 'POST' | 'PUT', path: string, args: JsonObject, absent: JsonObject): ApiCall | string {
  const { collection: name, ...body } = args;
  if (typeof name !== 'string' || name === '') return collectionMissing;
  return { method, path, params: { collection: name }, search: '', body: { ...absent, ...body } };
}

/** Pages of a crawl in one answer, where the assistant does not say. */
const crawlPagesDefault = 10;

/** The state of a crawl when `id` is given, else a new one. */
function crawlCall(args: JsonObject): ApiCall | string {
  const { id, cursor, limit } = args;
  if (id === undefined || id === null) return post('/v1/tools/crawl', args);
  if (typeof id !== 'string' || id === '') return "'id' must be the id of a crawl, as an earlier answer gave it.";
  const search = new URLSearchParams({ limit: String(limit ?? crawlPagesDefault) });
  if (cursor !== undefined && cursor !== null) search.set('cursor', String(cursor));
  return { method: 'GET', path: '/v1/tools/crawl/:id', params: { id }, search: search.toString(), body: null };
}

function pageText(answer: JsonObject): string {
  const { data, warning } = answer as { data?: JsonObject; warning?: string };
  const text = typeof data?.markdown === 'string' ? data.markdown : json(data ?? answer);
  return warning === undefined ? text : `${text}\n\nWarning: ${warning}`;
}

const pngPrefix = 'data:image/png;base64,';

function screenshotIn({ data, ...others }: JsonObject): { png: string; rest: JsonObject } | null {
  if (!isObject(data) || typeof data.screenshot !== 'string' || !data.screenshot.startsWith(pngPrefix)) return null;
  const { screenshot, ...page } = data;
  return { png: screenshot.slice(pngPrefix.length), rest: { ...others, data: page } };
}

export const mcpTools: readonly McpTool[] = [
  {
    name: 'search',
    title: 'Search the web',
    description:
      'Searches the web and returns titles, addresses and descriptions of the best hits. With scrapeOptions, the pages behind them are read too, each at the cost of a scrape.',
    input: z.looseObject({
      query: z.string().describe('What to look for.'),
      limit: z.int().optional().describe('How many hits. Default: 5.'),
      lang: z.string().optional().describe('Language, such as en or en-US.'),
      country: z.string().optional().describe('Country, such as US.'),
      scrapeOptions: z.looseObject({ formats: textFormats.optional() }).optional(),
    }),
    annotations: { ...reading, openWorldHint: true },
    callOf: (args) => post('/v1/tools/search', args),
    textOf: whole,
  },
  {
    name: 'scrape',
    title: 'Read a page',
    description:
      'Reads one page of the web, HTML, PDF or text, and returns its main content as markdown; with the format screenshot, also a picture of it.',
    input: z.looseObject({
      url: z.string().describe('Address of the page.'),
      formats: formats.optional(),
      onlyMainContent: z.boolean().optional().describe('Without menus and footers. Default: true.'),
      maxAge: z.int().optional().describe('Maximum age of a cached copy in milliseconds; 0 reads the page again.'),
      timeout: z.int().optional().describe('Timeout in milliseconds. Default: 30000.'),
    }),
    annotations: { ...reading, openWorldHint: true },
    callOf: (args) => post('/v1/tools/scrape', args),
    textOf: pageText,
    pictureOf: screenshotIn,
  },
  {
    name: 'crawl',
    title: 'Read a whole site',
    description:
      "Begins to read the pages of a site, and answers its id at once; each page is paid for. Call it again with that id alone to see how far it is and the pages read so far; more pages follow while 'next' is not null: its cursor is 'cursor'.",
    input: z.looseObject({
      url: z
        .string()
        .optional()
        .describe('Where to begin. Leave it out to ask for a crawl that is running or has ended.'),
      limit: z
        .int()
        .optional()
        .describe(
          `Maximum number of pages to read. Default: 100. With id, maximum number of pages in this answer. Default: ${crawlPagesDefault}.`,
        ),
      includePaths: z.array(z.string()).optional().describe('Regular expressions of the paths to read.'),
      excludePaths: z.array(z.string()).optional().describe('Regular expressions of the paths to leave out.'),
      maxDiscoveryDepth: z.int().optional().describe('Maximum number of links from the start. Default: 5.'),
      collection: z
        .string()
        .optional()
        .describe('Vector collection that the pages are written into, for vector_search.'),
      id: z.string().optional().describe('Id of an earlier crawl: the answer says how far it is, and gives its pages.'),
      cursor: z.int().optional().describe('With id: where to go on, from the link in next.'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    callOf: crawlCall,
    textOf: whole,
  },
  {
    name: 'create_collection',
    title: 'Create a vector collection',
    description:
      'Creates a vector collection, which vector_upsert fills and vector_search searches. With an embedding model it takes texts; without one it takes vectors of vector_size numbers.',
    input: z.looseObject({
      collection: z.string().describe('Its name: letters, digits, _, - and dots. The name must be new.'),
      embedding_model: z.string().optional().describe('A model of type embedding, as list_models lists it.'),
      vector_size: z
        .int()
        .optional()
        .describe('Numbers in a vector. Leave it out with embedding_model, which decides it.'),
      distance: z.enum(['Cosine', 'Dot', 'Euclid', 'Manhattan']).optional().describe('Default: Cosine.'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    callOf({ collection: name, ...body }) {
      return typeof name === 'string' ? post('/v1/vectors/collections', { ...body, name }) : collectionMissing;
    },
    textOf: ({ result, ...rest }) => json(result ?? rest),
  },
  {
    name: 'vector_search',
    title: 'Search a vector collection',
    description:
      'Finds the points of a vector collection that are nearest to a text, or to a vector, with their payloads.',
    input: z.looseObject({
      collection,
      text: z.string().optional().describe('What to look for, in words.'),
      model: z.string().optional().describe('Embedding model for the text. Default: that of the collection.'),
      vector: z.array(z.number()).optional().describe('Instead of text.'),
      limit: z.int().optional().describe('How many points. Default: 10.'),
      filter: filter.optional(),
    }),
    annotations: { ...reading, openWorldHint: false },
    callOf: (args) =>
      onCollection('POST', '/v1/vectors/collections/:collection/points/search', args, {
        limit: 10,
        with_payload: true,
      }),
    textOf: ({ result, ...rest }) => json(result ?? rest),
  },
  {
    name: 'vector_upsert',
    title: 'Store in a vector collection',
    description:
      'Stores points in a vector collection. A collection with an embedding model embeds payload.text of points that come without a vector. A point with the same id is replaced.',
    input: z.looseObject({
      collection,
      points: z
        .array(
          z.looseObject({
            id: z.union([z.int(), z.string()]).describe('A whole number or a UUID.'),
            payload: z.looseObject({ text: z.string().optional() }).optional(),
            vector: z.array(z.number()).optional(),
          }),
        )
        .describe('What to store.'),
    }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    callOf: (args) => onCollection('PUT', '/v1/vectors/collections/:collection/points', args, {}),
    textOf: ({ result, ...rest }) => json(result ?? rest),
  },
  {
    name: 'list_models',
    title: 'List the models',
    description: 'Lists the models that this key may use: type, capabilities, context window, price. Costs nothing.',
    input: z.looseObject({}),
    annotations: { ...reading, openWorldHint: false },
    callOf: () => ({ method: 'GET', path: '/v1/models', params: {}, search: '', body: null }),
    textOf: whole,
  },
];
