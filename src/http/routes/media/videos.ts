import { remixSchema, videoSchema } from '../../../formats/media/videos/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import { type VideoInput, videoRemixEndpoint, videosEndpoint } from '../../../inference/families/videos/endpoint.ts';
import { deleteVideo, tenantVideos, videoAt, videoContent } from '../../../inference/families/videos/jobs.ts';
import { sendVideo, type VideoCaller } from '../../../inference/families/videos/stream-content.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, failureIn, invalid, isFailure } from '../../../kernel/failure.ts';
import { isWhole, type JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { bodyHandler, uploadHandler } from '../../model-call.ts';
import { writeJson } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';
import { listOf, notOfList } from '../list-page.ts';

/** `/v1/videos`: OpenAI's jobs over any provider that makes videos. */
export function videoRoutes(services: Services): Route[] {
  const create = videosEndpoint(services);
  const asJson = bodyHandler(services, create, (_, body): VideoInput => ({ body }));
  const asForm = uploadHandler(services, create, 1, (_, form): VideoInput => ({ form }));
  const free = (call: `${'GET' | 'DELETE'} /v1/${string}`, summary: string, answer: Answer): Route =>
    keyRoute(call, 'free', { limitForm: 'openai', summary, handle: (exchange) => answered(exchange, answer) });
  return [
    keyRoute('POST /v1/videos', 'one', {
      limitForm: 'openai',
      summary: 'Begin a video',
      endpoint: 'video',
      body: { schema: videoSchema },
      handle: (exchange) =>
        /^multipart\/form-data/i.test(exchange.request.headers['content-type'] ?? '')
          ? asForm(exchange)
          : asJson(exchange),
    }),
    keyRoute('POST /v1/videos/:id/remix', 'one', {
      limitForm: 'openai',
      summary: 'Make a video of another one',
      endpoint: 'video-remix',
      body: { schema: remixSchema },
      handle: bodyHandler(services, videoRemixEndpoint(services), ({ params: { id = '' } }, body) => ({ body, id })),
    }),
    free('GET /v1/videos', 'List your videos', ({ tenant, query }) => listed(services, tenant, query)),
    free('GET /v1/videos/:id', 'Ask how far a video is', async ({ tenant, id }) => {
      const found = await videoAt(services, tenant, id);
      return isFailure(found) ? found : { json: found.job };
    }),
    free('DELETE /v1/videos/:id', 'Delete a video', ({ tenant, id }) => deleteVideo(services, tenant, id)),
    free('GET /v1/videos/:id/content', 'Download a video', async ({ exchange, tenant, id, query }) => {
      const content = await videoContent(services, tenant, id, query);
      if (isFailure(content)) return content;
      await sendVideo(services.transport, videoCallerOf(exchange), content);
      return null;
    }),
  ];
}

/** Caller of a video's bytes: of a HEAD request, of its headers alone. */
export function videoCallerOf({ client, admitted, request }: Exchange): VideoCaller {
  const takes = request.method === 'HEAD' ? 'head' : 'file';
  return { client, headers: admitted?.headers ?? [], takes, range: request.headers.range ?? null };
}

/** Resolves to the body of an answer, whose members a provider may name; null: it was answered already. */
type Answer = (call: {
  exchange: Exchange;
  tenant: string;
  id: string;
  query: URLSearchParams;
}) => Promise<{ json: JsonObject } | Failure | null>;

async function answered(exchange: Exchange, answer: Answer): Promise<void> {
  const { tenant } = callerOf(exchange);
  const headers = exchange.admitted?.headers ?? [];
  try {
    const query = new URLSearchParams(exchange.search);
    const result = await answer({ exchange, tenant, id: exchange.params.id ?? '', query });
    if (isFailure(result)) refuse(exchange.client, result, headers);
    else if (result !== null) writeJson(exchange, 200, result.json, headers);
  } catch (error) {
    refuse(exchange.client, failureIn(error), headers);
  }
}

/** A page, as OpenAI has it: `limit`, `after`, `order`. `unlisted` names providers whose videos are missing. */
async function listed(
  services: Services,
  tenant: string,
  query: URLSearchParams,
): Promise<{ json: JsonObject } | Failure> {
  const limit = Number(query.get('limit') ?? 20);
  if (!isWhole(limit, 0, 100)) {
    return invalid('limit', "'limit' is a whole number, 0 to 100.");
  }
  const found = await tenantVideos(services, tenant);
  if (isFailure(found)) return found;
  const { videos: newestFirst, unlisted } = found;
  const all = query.get('order') === 'asc' ? newestFirst.toReversed() : newestFirst;
  const after = query.get('after');
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  // Of a video that is gone nobody knows where it was: a list that began anew would never end.
  if (after !== null && from === 0) {
    return unlisted[0] === undefined ? notOfList('after', after) : { kind: 'overloaded', message: unlisted[0].message };
  }
  const page = listOf(all.slice(from, from + limit + 1), limit);
  return { json: unlisted.length === 0 ? page : { ...page, unlisted: unlisted.map((one) => ({ ...one })) } };
}
