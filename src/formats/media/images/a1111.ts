import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { asNumber } from './as-number.ts';
import type { DecodedImage, ImageFormat } from './format.ts';
import { fieldsFor, unknownIn } from './losses.ts';
import { malformed, noPicture, pictureIn } from './read-answer.ts';

/**
 * Further members that callers may give. Others choose scripts, settings and files on its machine, which are not a
 * caller's to choose.
 */
const a1111Fields = [
  'negative_prompt',
  'seed',
  'steps',
  'cfg_scale',
  'sampler_name',
  'scheduler',
  'denoising_strength',
];

/** The others are numbers. */
const texts = new Set(['negative_prompt', 'sampler_name', 'scheduler']);

/** The model that a server has loaded, whatever it is. */
const loaded = 'default';

/** Stable Diffusion web UI's `/sdapi/v1/txt2img` and `img2img`, which Forge and sd-server speak too. */
export const a1111Images: ImageFormat = {
  id: 'a1111',
  encode(order) {
    const { model, count, request, source } = order;
    const body: JsonObject = {};
    for (const name of a1111Fields) {
      const value = request.extra[name];
      if (value !== undefined) body[name] = texts.has(name) ? value : asNumber(value);
    }
    body.prompt = request.prompt;
    body.batch_size = count;
    body.send_images = true;
    body.save_images = false;
    if (model !== loaded) {
      body.override_settings = { sd_model_checkpoint: model };
      // Switching back would load the other one again after every image.
      body.override_settings_restore_afterwards = false;
    }
    if (request.size !== null) Object.assign(body, request.size);
    if (source !== null) {
      body.init_images = source.pictures.map(({ base64 }) => base64);
      if (source.mask !== null) {
        body.mask = source.mask.base64;
        // It redraws the masked part, OpenAI the part that the mask leaves open.
        body.inpainting_mask_invert = 1;
      }
    }
    return { body, losses: [...fieldsFor(order).losses, ...unknownIn(order, a1111Fields)] };
  },
  decode(body) {
    const list = isObject(body) ? body.images : undefined;
    if (!Array.isArray(list)) return errorInside(body) ?? malformed("the answer has no 'images'");
    const images: DecodedImage[] = [];
    for (const one of list) {
      const image = pictureIn(one, undefined);
      if (image === null) return malformed('the answer holds an entry without a picture');
      images.push(image);
    }
    return images.length === 0 ? noPicture : { images, usage: null, reported: {} };
  },
};
