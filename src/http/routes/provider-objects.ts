import { objectNotFound } from '../../formats/dialects/named-objects.ts';
import { type ObjectOperation, objectOperations } from '../../formats/providers/object-apis.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { objectsEndpoint } from '../../inference/families/provider-objects/endpoint.ts';
import type { ObjectBody } from '../../inference/families/provider-objects/named-in-body.ts';
import { serve } from '../../inference/spine/serve.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { isSortedId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { parseBody } from '../../kernel/parse-object.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { plainCallOf } from '../model-call.ts';
import { hasBody, readBody } from '../read-body.ts';
import { type Multipart, readMultipart } from '../read-multipart.ts';
import { keyRoute } from './key-route.ts';

/** Files in one form: those of a skill. */
const filesMax = 500;

/** Containers, evals, fine-tuning, skills and stored chat completions at OpenAI's paths. */
export function providerObjectRoutes(services: Services): Route[] {
  return objectOperations.map((operation) =>
    keyRoute(`${operation.method} /v1${operation.path}`, operation.method === 'POST' ? 'one' : 'free', {
      endpoint: 'provider-objects',
      limitForm: 'openai',
      summary: operation.summary,
      ...(operation.method === 'POST' && { body: { schema: () => schemaOf(operation) } }),
      handle: (exchange) => answer(services, operation, exchange),
    }),
  );
}

const ofFile = { api: 'fine_tuning', method: 'GET', answers: 'part', fields: [] } as const;
const fileOperations = {
  facts: { ...ofFile, path: '/files/:id', summary: 'A file at the provider' },
  content: { ...ofFile, path: '/files/:id/content', summary: 'The content of a file at the provider' },
} as const satisfies Record<string, ObjectOperation>;

/**
 * Answers for a file that is at a provider, such as the results of a fine-tuning, where the caller was given its id.
 * False, and nothing done, for all other ids.
 */
export async function answersFileThere(
  services: Services,
  exchange: Exchange,
  operation: keyof typeof fileOperations,
): Promise<boolean> {
  const { id = '' } = exchange.params;
  if (isSortedId('file-', id) || !idPattern.test(id)) return false;
  await services.objects.ready();
  if ((await services.objects.homeOf(callerOf(exchange).tenant, id)) === null) return false;
  await answer(services, fileOperations[operation], exchange);
  return true;
}

function schemaOf({ fields }: ObjectOperation): JsonObject {
  return { type: 'object', properties: Object.fromEntries(fields.map((name) => [name, {}])) };
}

async function answer(services: Services, operation: ObjectOperation, exchange: Exchange): Promise<void> {
  const { search, params } = exchange;
  const call = plainCallOf(exchange);
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const hold = await services.storage.hold(call.principal.account);
  if (isFailure(hold)) return refused(hold);
  let form: Multipart | null = null;
  try {
    let body: ObjectBody | null = null;
    if (operation.method === 'POST') {
      const read = isForm(exchange)
        ? await readMultipart(exchange, services.spool, {
            bodyBytes: services.snapshots.current.config.server.upload_limit,
            files: filesMax,
            hold,
          })
        : await jsonOf(services, exchange);
      if (read === null) return;
      if (isFailure(read)) return refused(read);
      if ('release' in read) form = read;
      body = 'release' in read ? { form: read } : read;
    }
    const below = pathOf(operation, params);
    if (typeof below !== 'string') return refused(below);
    const input = { operation, path: below, search, id: params.id ?? null, body };
    await serve(services, objectsEndpoint(services), call, input);
  } finally {
    await form?.release();
    hold.release();
  }
}

/** Providers' ids have no other characters, so no server reads another one in them. */
const idPattern = /^[\w-]{1,200}$/;

/** The path of this object below the API's root; a 404 for an id that no provider could have given. */
function pathOf({ path }: ObjectOperation, params: Exchange['params']): string | Failure {
  const wrong = Object.entries(params).find(([, id]) => !idPattern.test(id ?? ''));
  if (wrong !== undefined) return objectNotFound(wrong[0]);
  return path.replace(/:(\w+)/g, (_, name: string) => params[name] ?? '');
}

function isForm({ request }: Exchange): boolean {
  return /^multipart\/form-data/i.test(request.headers['content-type'] ?? '');
}

/** An empty body is an object without members, as for `POST …/cancel`. Null: the caller left. */
async function jsonOf(services: Services, exchange: Exchange): Promise<ObjectBody | Failure | null> {
  if (!hasBody(exchange.request)) return { json: {} };
  const raw = await readBody(exchange, services.snapshots.current.config.server.body_limit);
  if (raw === null || !Buffer.isBuffer(raw)) return raw;
  const parsed = parseBody(raw);
  return isFailure(parsed) ? parsed : { json: parsed.body };
}
