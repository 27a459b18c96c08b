import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { purposes, shownPurposes } from '../../../inference/batches/stored-files.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { Route } from '../../exchange.ts';
import { withOtherFormat } from '../../other-format.ts';
import type { FormField } from '../../read-multipart.ts';
import { keyRoute } from '../key-route.ts';
import { listed, listOf, oneOf } from '../list-page.ts';
import { answersFileThere } from '../provider-objects.ts';
import { type StoredPlace, storedRoutes } from '../stored-route.ts';
import { anthropicFilesRoutes } from './anthropic-files.ts';
import { type FileFormat, type FilesParts, fieldOf, oneFileRoutes, uploadFile } from './file-calls.ts';
import { expiryOf, retentionSchema, shownFile } from './openai-file.ts';
import { uploadsRoutes } from './uploads.ts';

const place: StoredPlace = { endpoint: 'files', dialect: openAiChat };
const route = storedRoutes(place);
const path = '/v1/files';
const one = `${path}/:id`;

const format: FileFormat = { factsOf, shown: shownFile };
/**
 * `/v1/files`: OpenAI's files, kept here for their key; in Anthropic's format where `anthropic-version` is sent.
 * `/v1/uploads` makes more of them.
 */
export function filesRoutes(parts: FilesParts): Route[] {
  const openAi = openAiFilesRoutes(parts).map((route) => alsoThere(parts, route));
  const files = withOtherFormat(openAi, 'anthropic-version', anthropicFilesRoutes(parts));
  return [...files, ...uploadsRoutes(parts)];
}

/** The same route, which also reads a file that a provider has. */
function alsoThere({ services }: FilesParts, route: Route): Route {
  if (route.method !== 'GET' || route.path === path) return route;
  const operation = route.path === one ? 'facts' : 'content';
  return {
    ...route,
    async handle(exchange) {
      if (!(await answersFileThere(services, exchange, operation))) await route.handle(exchange);
    },
  };
}

function openAiFilesRoutes(parts: FilesParts): Route[] {
  return [
    keyRoute(`POST ${path}`, 'one', {
      summary: 'Upload a file',
      ...place,
      body: { form: 'multipart/form-data', schema: uploadSchema },
      handle: (exchange) => uploadFile(parts, exchange, format),
    }),
    route('GET', path, 'The files of this key', async ({ tenant, query }) => {
      const page = listed(query, { limitMax: 10_000, limit: 10_000, idPrefix: 'file-' });
      if (isFailure(page)) return page;
      const purpose = oneOf(query, 'purpose', shownPurposes);
      if (isFailure(purpose)) return purpose;
      const files = await (await parts.files()).list({
        tenant,
        ...page,
        limit: page.limit + 1,
        purposes: purpose === null ? shownPurposes : [purpose],
      });
      return listOf(files.map(shownFile), page.limit);
    }),
    ...oneFileRoutes(parts, route, one, { shown: shownFile, removed: { object: 'file', deleted: true } }),
  ];
}

function factsOf(fields: readonly FormField[]) {
  const purpose = fieldOf(fields, 'purpose');
  if (!purposes.some((known) => known === purpose)) {
    return invalid('purpose', `'purpose' must be one of ${purposes.join(', ')}.`);
  }
  const lifetimeMs = retentionOf(fields);
  return isFailure(lifetimeMs) ? lifetimeMs : { purpose: purpose!, lifetimeMs };
}

function retentionOf(fields: readonly FormField[]): number | Failure | null {
  const anchor = fieldOf(fields, 'expires_after[anchor]');
  const seconds = fieldOf(fields, 'expires_after[seconds]');
  if (anchor === null && seconds === null) return null;
  return expiryOf({ anchor, seconds: seconds === null ? null : Number(seconds) }, 'expires_after');
}

function uploadSchema() {
  return {
    type: 'object',
    required: ['file', 'purpose'],
    properties: {
      file: { type: 'string', format: 'binary' },
      purpose: { type: 'string', enum: [...purposes] },
      'expires_after[anchor]': retentionSchema.properties.anchor,
      'expires_after[seconds]': retentionSchema.properties.seconds,
    },
  };
}
