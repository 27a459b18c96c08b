import { a1111Images } from './a1111.ts';
import { bedrockStabilityImages } from './bedrock-stability.ts';
import { bflImages } from './bfl.ts';
import { falImages } from './fal.ts';
import { fireworksImages } from './fireworks.ts';
import type { ImageFormat, ImageFormatId } from './format.ts';
import { geminiImages } from './gemini.ts';
import { imagenImages } from './imagen.ts';
import { novaCanvasImages } from './nova-canvas.ts';
import { openAiImages } from './openai.ts';
import { replicateImages } from './replicate.ts';
import { stabilityImages } from './stability.ts';

/** Every format in which upstreams are asked for pictures. */
export const imageFormats: Readonly<Record<ImageFormatId, ImageFormat>> = {
  openai: openAiImages,
  gemini: geminiImages,
  imagen: imagenImages,
  a1111: a1111Images,
  fireworks: fireworksImages,
  fal: falImages,
  replicate: replicateImages,
  bfl: bflImages,
  stability: stabilityImages,
  'bedrock-stability': bedrockStabilityImages,
  'nova-canvas': novaCanvasImages,
};
