import type { Config } from '../../../config/schema.ts';
import type { JsonSchema } from '../../../formats/neutral/described-check.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { writeAnswer } from '../../delivery.ts';
import type { Route } from '../../exchange.ts';
import { linkPathOf } from '../../link-base.ts';
import { openRoute } from '../key-route.ts';

export interface OpenApiParts {
  /** OpenAPI of the admin API: a document whose `paths` and `components` are there. */
  admin(): Promise<Record<string, unknown>>;
  /** The whole route table, with this route. */
  routes(): readonly Route[];
  server(): Config['server'];
}

type Json = Record<string, unknown>;

/** `GET /openapi.json`: everything that is served. Without a key: it names what there is, and nothing of this server's. */
export function openApiRoute(parts: OpenApiParts): Route {
  let document: string | null = null;
  return openRoute('GET /openapi.json', 'This document', async (exchange) => {
    document ??= JSON.stringify(await documentOf(parts)).slice(1);
    const path = linkPathOf(exchange.request, parts.server());
    // Without it, clients take the root of the host for that of this server.
    const servers = path === '' ? '' : `"servers":${JSON.stringify([{ url: path }])},`;
    writeAnswer(exchange, 200, [], `{${servers}${document}`);
  });
}

/** The admin API by its schemas; of the others, which exist, what key they take, and what bodies by the tables that check them. */
async function documentOf({ admin, routes }: OpenApiParts): Promise<Json> {
  const { paths, components, ...rest } = (await admin()) as { paths: Json; components: Json };
  const others: Record<string, Json> = {};
  for (const route of routes()) {
    if (route.path.startsWith('/admin/')) continue;
    const path = route.path
      .replace(/(?<!:):(\w+)/g, '{$1}')
      .replace('::', ':')
      .replace('*', '{id}');
    others[path] = { ...others[path], [route.method.toLowerCase()]: await described(route, path) };
  }
  const schemes = components.securitySchemes as Json;
  const apiKey = {
    type: 'http',
    scheme: 'bearer',
    description:
      'A key, `sk-cv-…`; x-culvert-key, x-api-key, api-key, x-goog-api-key and x-portkey-api-key do as well.',
  };
  const session = {
    type: 'apiKey',
    in: 'cookie',
    name: 'culvert_session',
    description:
      'The session of a logged-in browser. At a port other than that of http or https its name ends in the port, as in culvert_session_4141; below a path, in that. Calls that change something need x-culvert-csrf, too.',
  };
  return {
    ...rest,
    paths: { ...others, ...paths },
    components: { ...components, securitySchemes: { ...schemes, apiKey, session } },
  };
}

const security = {
  key: [{ apiKey: [] }, { session: [] }],
  admin: [{ adminKey: [] }, { session: [] }],
  session: [{ session: [] }],
  none: [],
} as const;

async function described(route: Route, path: string): Promise<Json> {
  return {
    summary: route.summary,
    security: security[route.auth],
    parameters: [...parametersIn(path), ...headersOf(route)],
    ...(route.method !== 'GET' && route.method !== 'HEAD' && route.method !== 'DELETE'
      ? { requestBody: await bodyOf(route) }
      : {}),
    responses: {
      200: { description: 'OK' },
      default: {
        description: 'Refused',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  };
}

function parametersIn(path: string): Json[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)];
  return names.map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
}

function headersOf({ otherFormats = [] }: Route): Json[] {
  const description = 'With it, the call and its answer are in the format of the vendor whose clients send it.';
  return otherFormats.map(({ header }) => ({ name: header, in: 'header', description, schema: { type: 'string' } }));
}

async function bodyOf({ body, otherFormats }: Route): Promise<Json> {
  if (body === undefined) return { required: false, content: { 'application/json': { schema: { type: 'object' } } } };
  const schemaOfBody = await body.schema();
  const others = await Promise.all((otherFormats ?? []).map(({ route }) => route.body?.schema()));
  const schema = others.reduce<JsonSchema>(
    (all, other) => (other === undefined ? all : eitherOf(all, other)),
    schemaOfBody,
  );
  const json = body.json === undefined ? {} : { 'application/json': { schema: body.json() } };
  return { required: true, content: { [body.form ?? 'application/json']: { schema }, ...json } };
}

/** The members of both, and what one or the other needs. */
function eitherOf({ required = [], ...rest }: JsonSchema, other: JsonSchema): JsonSchema {
  const properties = { ...(other.properties as JsonObject), ...(rest.properties as JsonObject) };
  return { ...rest, properties, anyOf: [{ required }, { required: other.required ?? [] }] };
}
