/*
 * Complete frames, made by hand from ISO 13818-3, ISO 13818-7 and RFC 6716: a file of any length is a row of them.
 */

/** MPEG-2 layer III, 24 kHz, mono: four frames of 24 ms in which 573 Hz sounds; the waves of neighbours meet. */
export const mp3Frames = Buffer.from(
  '//NExAAAiDsgAAhCAP/5AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAAAAAAAAAAAAA//NExAAAiDsgAAhCAP/5AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA//NExAAAiDsgAAhCAP/5gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA//NExAAAiDsgAAhCAP/5gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' +
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'base64',
);

/** AAC-LC in ADTS, 24 kHz, mono: 1,024 samples of silence. */
export const aacFrame = Buffer.from('//FYQAF//AAAAAc=', 'base64');

/** 20 ms of one channel of Opus in which nothing sounds. */
export const opusPacket = Buffer.from('+P/+', 'base64');

/** Ogg's first two pages, which say that Opus of 24 kHz and one channel follows (RFC 7845). */
export const opusHead = Buffer.from(
  'T2dnUwACAAAAAAAAAABTSU1VAAAAAPv3UoIBE09wdXNIZWFkAQE4AcBdAAAAAABPZ2dTAAAAAAAAAAAAAFNJTVUBAAAAAi3nlAEZT3B1c1RhZ3MJAAAAc2lt' +
    'dWxhdGVkAAAAAA==',
  'base64',
);
