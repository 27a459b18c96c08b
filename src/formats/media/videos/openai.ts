import { isObject, jsonText, objectIn, stringOr } from '../../../kernel/json.ts';
import { fault } from '../../neutral/outcome.ts';
import type { VideoFormat } from './format.ts';

/** https://platform.openai.com/docs/api-reference/videos, which Azure has too. */
export const openAiVideos: VideoFormat = {
  id: 'openai',
  unmet: () => null,
  encode: ({ prompt, seconds, size, pictureUrl, extra }, model) => ({
    ...extra,
    model,
    prompt,
    // Its seconds are words.
    seconds: String(seconds),
    ...(size !== null && { size: `${size.width}x${size.height}` }),
    ...(pictureUrl !== null && { input_reference: { image_url: pictureUrl } }),
  }),
  started(body) {
    if (!isObject(body) || typeof body.id !== 'string' || body.id === '')
      return fault('malformed', 'answered without the id of a video');
    if (body.status !== 'failed') return { job: { ...body, id: body.id } };
    // Nobody would ask for it again, by which it would be given back.
    const { code, message } = objectIn(body.error);
    const why = stringOr(message, stringOr(code, 'without a reason')).slice(0, 500);
    return /moderation|safety|content_policy/i.test(`${jsonText(code)} ${why}`)
      ? fault('filtered', `refused the request for its content (${why})`)
      : fault('transient', `the video failed at once: ${why}`);
  },
};
