/** Something like a voice: tones and noise, so that encoders have work. */
export function voicePcm(seconds: number, rateHz = 24_000): Buffer {
  const samples = Buffer.alloc(seconds * rateHz * 2);
  for (let i = 0; i < seconds * rateHz; i += 1) {
    const noise = ((i * 2_654_435_761) % 4_096) - 2_048;
    samples.writeInt16LE(Math.round(9_000 * Math.sin(i / 8) * Math.sin(i / 3_000) + noise), i * 2);
  }
  return samples;
}
