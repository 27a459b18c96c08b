import type { VideoFormat, VideoFormatId } from './format.ts';
import { openAiVideos } from './openai.ts';
import { veoVideos } from './veo.ts';

export const videoFormats: Readonly<Record<VideoFormatId, VideoFormat>> = { openai: openAiVideos, veo: veoVideos };
