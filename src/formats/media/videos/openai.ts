import { isObject } from '../../../kernel/json.ts';
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
    if (isObject(body) && typeof body.id === 'string' && body.id !== '') return { job: { ...body, id: body.id } };
    return fault('malformed', 'answered without the id of a video');
  },
};
