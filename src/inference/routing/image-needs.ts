import type { ImageModelFacts } from '../dialects/images/format.ts';
import type { ImageNeeds } from '../neutral/image.ts';
import { sizeText, whyNotSize } from '../neutral/image-size.ts';

/**
 * What a request for pictures needs and a target cannot do, as words for people that begin with the field. What would
 * make another picture of it is kept away; wishes such as `quality` and `style` are dropped and listed instead.
 */
export function unmetImage(can: ImageModelFacts | undefined, needs: ImageNeeds): string | null {
  if (can === undefined) return 'pictures';
  const { size, transparent, outputFormat, edit } = needs;
  if (edit !== null) {
    if (can.edits === undefined) return 'changing pictures';
    const { picturesMax, mask, bytesMax } = can.edits;
    if (edit.pictures > picturesMax) return `pictures to change: ${edit.pictures} (it takes ${picturesMax})`;
    if (bytesMax !== undefined && edit.bytes > bytesMax) {
      return `pictures to change: ${edit.bytes} bytes (it takes ${bytesMax})`;
    }
    if (edit.mask && !mask) return 'mask';
  }
  if (size !== null) {
    const why = whyNotSize(can.sizes, size);
    if (why !== null) return `size: ${sizeText(size)} (it ${why})`;
  }
  if (transparent && can.transparent === false) return 'background: transparent';
  if (outputFormat !== null && can.outputs?.includes(outputFormat) === false) return `output_format: ${outputFormat}`;
  return null;
}
