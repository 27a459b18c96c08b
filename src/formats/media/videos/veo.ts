import { isObject, type JsonObject, type JsonValue, listIn } from '../../../kernel/json.ts';
import { fault } from '../../neutral/outcome.ts';
import type { VideoFormat, VideoOperation } from './format.ts';

/** Shapes that Veo draws, by their shorter side. */
const ratios: Readonly<Record<string, number>> = { '16:9': 16 / 9, '9:16': 9 / 16 };
const resolutions: Readonly<Record<number, string>> = { 720: '720p', 1080: '1080p', 2160: '4k' };

/** Parameters that would make more than is charged, or write with the operator's rights, as they may be spelt. */
const notCallers: ReadonlySet<string> = new Set(['durationseconds', 'samplecount', 'storageuri']);

/** https://ai.google.dev/gemini-api/docs/video and https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation */
export const veoVideos: VideoFormat = {
  id: 'veo',
  unmet({ size, pictureUrl, extra }) {
    const taken = Object.keys(extra).find((name) => notCallers.has(name.replaceAll('_', '').toLowerCase()));
    if (taken !== undefined) {
      const why = "'seconds' is the length of the one video that is made, and the operator chooses its place";
      return { field: taken, message: `'${taken}': ${why}` };
    }
    if (size !== null && shapeOf(size) === null) {
      return { field: 'size', message: "'size': Veo draws 1280x720, 720x1280, 1920x1080 and 1080x1920" };
    }
    if (pictureUrl !== null && !/^data:image\/\w+;base64,/.test(pictureUrl)) {
      return { field: 'input_reference', message: "'input_reference': Veo takes a file or a data: URL, no link" };
    }
    return null;
  },
  encode({ prompt, seconds, size, pictureUrl, extra }, _model, picture) {
    const shape = size === null ? null : shapeOf(size);
    const [, mediaType, base64] = /^data:([^;]+);base64,(.*)$/s.exec(pictureUrl ?? '') ?? [];
    const image = picture ?? (base64 === undefined ? null : { mediaType, base64 });
    return {
      instances: [
        { prompt, ...(image !== null && { image: { bytesBase64Encoded: image.base64, mimeType: image.mediaType } }) },
      ],
      parameters: { durationSeconds: seconds, ...shape, ...extra },
    };
  },
  started(body) {
    if (isObject(body) && typeof body.name === 'string' && /^[\w./@:-]{1,512}$/.test(body.name)) {
      return { operation: body.name };
    }
    return fault('malformed', 'answered without the name of an operation');
  },
};

function shapeOf({ width, height }: { width: number; height: number }): JsonObject | null {
  const ratio = Object.keys(ratios).find((name) => Math.abs(width / height - ratios[name]!) < 0.01);
  const resolution = resolutions[Math.min(width, height)];
  return ratio === undefined || resolution === undefined ? null : { aspectRatio: ratio, resolution };
}

/** Place of a finished video: a link below the service, the answer, or a bucket. */
export type VeoVideo = { uri: string } | { base64: string; mediaType: string } | { bucket: string };

/** The job of an operation as OpenAI would tell it, and its video once it is there. */
export function readVeoOperation(
  body: JsonObject,
  id: string,
  { model, seconds, size, createdS }: VideoOperation,
): { job: JsonObject; video: VeoVideo | null } {
  const video = body.done === true ? videoOf(body.response) : null;
  const failed = body.done === true && video === null ? errorOf(body) : null;
  const status = failed !== null ? 'failed' : video !== null ? 'completed' : 'in_progress';
  const job = {
    id,
    object: 'video',
    model,
    status,
    progress: status === 'completed' ? 100 : 0,
    created_at: createdS,
    completed_at: null,
    expires_at: null,
    seconds: String(seconds),
    ...(size !== null && { size }),
    remixed_from_video_id: null,
    error: failed,
  };
  return { job, video };
}

function videoOf(response: unknown): VeoVideo | null {
  if (!isObject(response)) return null;
  const { generateVideoResponse: generated, videos } = response;
  // The Gemini API has it in a sample, Vertex in a list.
  const [sample] = isObject(generated) && Array.isArray(generated.generatedSamples) ? generated.generatedSamples : [];
  const [listed] = listIn(videos);
  const video = isObject(sample) ? sample.video : listed;
  if (!isObject(video)) return null;
  if (typeof video.uri === 'string') return { uri: video.uri };
  if (typeof video.gcsUri === 'string') return { bucket: video.gcsUri };
  const { bytesBase64Encoded: base64, mimeType } = video;
  return typeof base64 === 'string'
    ? { base64, mediaType: typeof mimeType === 'string' ? mimeType : 'video/mp4' }
    : null;
}

/** Error of the job, or the findings of its filters. */
function errorOf({ error, response }: JsonObject): JsonObject {
  if (isObject(error)) return { code: wordIn(error.code, 'error'), message: wordIn(error.message, '') };
  const inner = isObject(response) ? (response.generateVideoResponse ?? response) : null;
  const reasons = isObject(inner) && Array.isArray(inner.raiMediaFilteredReasons) ? inner.raiMediaFilteredReasons : [];
  const message =
    reasons.length > 0 ? reasons.map((reason) => wordIn(reason, '')).join(' ') : 'The model gave no video.';
  return { code: reasons.length > 0 ? 'content_filter' : 'no_video', message };
}

function wordIn(value: JsonValue | undefined, absent: string): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : absent;
}
