// The part of an OpenAPI document that is shown.

export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  /** `binary`: a file of a form. */
  format?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  allOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  additionalProperties?: Schema | boolean;
  required?: readonly string[];
  description?: string;
  default?: unknown;
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema?: Schema;
}

type Content = Readonly<Record<string, { schema?: Schema }>>;

interface Described {
  summary?: string;
  description?: string;
  tags?: readonly string[];
  security?: readonly Readonly<Record<string, unknown>>[];
  parameters?: readonly Parameter[];
  requestBody?: { content: Content };
  responses?: Readonly<Record<string, { description?: string; content?: Content }>>;
}

export interface Document {
  paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  components?: { schemas?: Readonly<Record<string, Schema>> };
}

export interface Operation extends Described {
  /** `POST /v1/embeddings`; unique in the document. */
  id: string;
  method: string;
  path: string;
}

export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, described]) => {
      const method = name.toUpperCase();
      return { ...described, id: `${method} ${path}`, method, path };
    }),
  );
}

/** Subjects in the order in which they are shown, the admin API's by tag after `/v1`; the first pattern that fits. */
const subjects: readonly (readonly [subject: string, paths: RegExp])[] = [
  ['Chat and text', /^\/v1\/(chat|messages(?!\/batches)|responses|(?:fim\/)?completions|conversations)\b/],
  ['Embeddings, ranking and moderation', /^\/v1\/(embeddings|rerank|moderations)\b/],
  ['Images and video', /^\/v1\/(images|videos)\b/],
  ['Audio and realtime', /^\/v1\/(audio|realtime)\b/],
  ['Objects at providers', /^\/(passthrough|v1\/(containers|evals|fine_tuning|skills))\b/],
  ['Files and batches', /^\/v1\/(files|batches|messages\/batches)\b/],
  ['Models, usage and keys', /^\/v1\/(models|usage|requests|keys)\b/],
  ['Vectors', /^\/v1\/vectors\b/],
  ['Web tools', /^\/v1\/(tools|ocr)\b/],
  ['MCP', /^\/(v1\/)?mcp\b/],
  ['Other formats: Gemini and Ollama', /^\/(v1beta|api)\b/],
  ['Other formats: Firecrawl', /^\/v[12]\//],
  ['Other formats: Qdrant', /^\/(collections|aliases|snapshots|cluster|telemetry|issues)\b/],
  ['Health and metrics', /^\/(health\w*|livez|readyz|metrics)\b/],
  ['SCIM', /^\/scim\b/],
];
const admin = 'Admin: ';
const others = 'Pages and more';

/** Subject of an operation: its tag, or else that of its path. */
export function subjectOf({ path, tags }: Operation): string {
  if (tags?.[0] !== undefined) return admin + tags[0].replaceAll('-', ' ').replace('mcp', 'MCP');
  return subjects.find(([, paths]) => paths.test(path))?.[0] ?? others;
}

/** Operations by subject, in the order of the subjects. */
export function bySubject(operations: readonly Operation[]): [subject: string, members: Operation[]][] {
  const found = Map.groupBy(operations, subjectOf);
  const order = [...subjects.map(([subject]) => subject), others];
  const known = order.filter((subject) => found.has(subject));
  const tags = [...found.keys()].filter((subject) => subject.startsWith(admin));
  return [...known, ...tags].map((subject) => [subject, found.get(subject) ?? []]);
}

/** Every word occurs in it. */
export function isFound({ id, summary = '', tags = [] }: Operation, text: string): boolean {
  const all = `${id} ${summary} ${tags.join(' ')}`.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** Content type and schema of the sent body; null: it has none. */
export function bodyOf({ requestBody }: Operation): { type: string; schema: Schema } | null {
  const [found] = Object.entries(requestBody?.content ?? {});
  return found === undefined ? null : { type: found[0], schema: found[1].schema ?? {} };
}

/** POSTs that only ask, and change no stored data. */
const asking = [
  /^\/v1(beta)?\/(chat|messages(?!\/batches)|responses(?!.*\/cancel$)|(?:fim\/)?completions|models|embeddings|moderations|rerank|audio|images)\b(?!\/completions\/)/,
  /\/points\/(search|recommend|discover|query|scroll|count)\b/,
  /\/facet$/,
  /^(?!.*\/batch\/).*\/(scrape|map|search)$/,
  /^\/admin\/v1\/.*(test|preview|check|explain)$/,
];

/** Whether a call may change or delete Culvert's data; an unknown one may. */
export function changesSomething({ method, path }: Operation): boolean {
  return method !== 'GET' && method !== 'HEAD' && !(method === 'POST' && asking.some((known) => known.test(path)));
}

/** Schema of a successful answer; null: it has none. */
export function answerOf({ responses = {} }: Operation): Schema | null {
  const well = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  return Object.values(well?.content ?? {})[0]?.schema ?? null;
}
