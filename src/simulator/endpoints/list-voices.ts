import type { JsonObject } from '../../kernel/json.ts';

/** `GET /v1/audio/voices` as Kokoro-FastAPI and speaches answer it. */
export const kokoroVoiceList: JsonObject = {
  voices: ['af_alloy', 'af_bella', 'af_heart', 'af_nova', 'am_echo', 'am_onyx', 'bm_fable'],
};
