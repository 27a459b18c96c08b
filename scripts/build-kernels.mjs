// Assembles src/vectors/embedded/kernels/*.wat into kernel-bytes.ts. Run with the repository's Node:
// `node_modules/.bin/node scripts/build-kernels.mjs`.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = new URL('../src/vectors/embedded/kernels/', import.meta.url);
const parts = ['f32', 'i8', 'bits', 'json'];

/** `wabt`: what the package's default export resolves to. Gives the text of kernel-bytes.ts. */
export function kernelBytesSource(wabt) {
  const lines = parts.map((part) => {
    const wat = readFileSync(new URL(`${part}.wat`, folder), 'utf8');
    const module = wabt.parseWat(`${part}.wat`, wat, { simd: true, threads: true });
    const { buffer } = module.toBinary({ write_debug_names: false });
    module.destroy();
    return `  // ${buffer.length} bytes\n  ${part}: '${Buffer.from(buffer).toString('base64')}',\n`;
  });
  return `// Written by scripts/build-kernels.mjs from the .wat files in this folder.\nexport const kernelBytes = {\n${lines.join('')}};\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { default: loadWabt } = await import('wabt');
  writeFileSync(fileURLToPath(new URL('kernel-bytes.ts', folder)), kernelBytesSource(await loadWabt()));
}
