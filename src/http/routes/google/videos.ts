import type { Services } from '../../../inference/endpoints/services.ts';
import { videoAt, videoContent } from '../../../inference/families/videos/jobs.ts';
import { sendVideo } from '../../../inference/families/videos/stream-content.ts';
import { type Failure, failureIn, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, objectIn } from '../../../kernel/json.ts';
import { callerOf, type Exchange } from '../../exchange.ts';
import { writeJson } from '../../write-json.ts';
import { videoCallerOf } from '../media/videos.ts';
import { refuseAsGoogle } from './refuse-as-google.ts';
import { linkOf } from './resource-names.ts';

const operationPath = /^(.+)\/operations\/([^/]+)$/s;
const videoFile = /^video((?:[0-9a-f]{2})+)$/;

/** Answers `models/{model}/operations/{id}`, by which Google's clients wait for a video; false: the path is another one. */
export async function answersOperation(services: Services, exchange: Exchange): Promise<boolean> {
  const [, model, id] = operationPath.exec(exchange.params['*'] ?? '') ?? [];
  if (model === undefined || id === undefined) return false;
  const headers = exchange.admitted?.headers ?? [];
  try {
    const found = await videoAt(services, callerOf(exchange).tenant, id);
    if (isFailure(found)) refuseAsGoogle(services, exchange, found);
    else writeJson(exchange, 200, operationOf(found.job, model, id, linkOf({ services }, exchange)), headers);
  } catch (error) {
    refuseAsGoogle(services, exchange, failureIn(error));
  }
  return true;
}

/** The name of a video's file: letters and digits alone, because Google's clients read no others in addresses. */
function fileOf(id: string): string {
  return `video${Buffer.from(id).toString('hex')}`;
}

/** The video of a file's name; null: it is no video that was made here. */
export function videoOfFile(name: string): string | null {
  const hex = videoFile.exec(name)?.[1];
  return hex === undefined ? null : Buffer.from(hex, 'hex').toString('utf8');
}

/** A video as a file of Google's; a 404 where the key has none. */
export async function shownVideo(
  services: Services,
  tenant: string,
  id: string,
  link: string,
): Promise<JsonObject | Failure> {
  const found = await videoAt(services, tenant, id);
  if (isFailure(found)) return found;
  const { job } = found;
  const uri = `${link}/v1beta/files/${fileOf(id)}`;
  return {
    name: `files/${fileOf(id)}`,
    mimeType: 'video/mp4',
    uri,
    downloadUri: `${uri}:download?alt=media`,
    state: job.status === 'completed' ? 'ACTIVE' : job.status === 'failed' ? 'FAILED' : 'PROCESSING',
    source: 'GENERATED',
  };
}

/** Sends a video's bytes as they come from the provider. A failure while there are none; null: they were sent. */
export async function sendVideoFile(services: Services, exchange: Exchange, id: string): Promise<Failure | null> {
  const content = await videoContent(services, callerOf(exchange).tenant, id, new URLSearchParams());
  if (isFailure(content)) return content;
  await sendVideo(services.transport, videoCallerOf(exchange), content);
  return null;
}

function operationOf(job: JsonObject, model: string, id: string, link: string): JsonObject {
  const name = `models/${model}/operations/${id}`;
  if (job.status === 'failed') {
    const { message, code } = objectIn(job.error);
    return { name, done: true, error: { code: 3, message: String(message ?? code ?? 'The model gave no video.') } };
  }
  if (job.status !== 'completed') return { name, done: false };
  const uri = `${link}/v1beta/files/${fileOf(id)}:download?alt=media`;
  const generateVideoResponse = { generatedSamples: [{ video: { uri, encoding: 'video/mp4' } }] };
  const type = 'type.googleapis.com/google.ai.generativelanguage.v1beta.PredictLongRunningResponse';
  return { name, done: true, response: { '@type': type, generateVideoResponse } };
}
