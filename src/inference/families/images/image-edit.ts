import { type PictureType, pictureStartBytes, pictureTypeOfStart } from '../../../formats/media/images/picture-type.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { SpooledFile } from '../../../net/spool.ts';
import type { UploadedForm } from '../../spine/form-content.ts';

/** Pictures to be changed, on disk while their request runs. */
export interface ImageEdit {
  pictures: readonly UploadedPicture[];
  /** Its transparent parts are those to be made anew. */
  mask: UploadedPicture | null;
  /** Drawn notes that say what to change, over the picture; only services of OpenAI's format read them. */
  markup: UploadedPicture | null;
}

export interface UploadedPicture {
  type: PictureType;
  file: Pick<SpooledFile, 'bytes' | 'read'>;
}

/** The bound of OpenAI's newest models. */
export const picturesMax = 16;
/** With the mask and the markup. */
export const editFilesMax = picturesMax + 2;

/** `image`, `image[]` or `image[0]`, and so for the others: clients write lists in each of these ways. */
const pictureField = /^(image|mask|markup)(?:\[\d{0,3}\])?$/;

/** The pictures of a form; the first fault found names its field. */
export async function readEditFiles({ files }: Pick<UploadedForm, 'files'>): Promise<ImageEdit | Failure> {
  const pictures: UploadedPicture[] = [];
  const single: Pick<ImageEdit, 'mask' | 'markup'> = { mask: null, markup: null };
  for (const { name, file, param } of files) {
    const field = pictureField.exec(name)?.[1] as 'image' | 'mask' | 'markup' | undefined;
    if (field === undefined) {
      const shown = name.slice(0, 80);
      return invalid(shown, `The form's file '${shown}' is not known. Send pictures as 'image' and 'mask'.`);
    }
    const picture = await readPicture(param ?? field, file);
    if (isFailure(picture)) return picture;
    if (field === 'image') pictures.push(picture);
    else if (single[field] === null) single[field] = picture;
    else return invalid(field, `The form has '${field}' twice. Send it once.`);
  }
  if (pictures.length === 0) {
    return invalid('image', "Missing 'image': send the picture to change as a file of the form, a PNG, JPEG or WebP.");
  }
  if (pictures.length > picturesMax) {
    return invalid('image', `'image' has ${pictures.length} pictures. Send at most ${picturesMax}.`);
  }
  return { pictures, ...single };
}

async function readPicture(field: string, file: SpooledFile): Promise<UploadedPicture | Failure> {
  if (file.bytes === 0) return invalid(field, `'${field}' is empty: it has 0 bytes.`);
  const type = pictureTypeOfStart(await file.head(pictureStartBytes));
  if (type !== null) return { type, file };
  const message = `'${field}' is not a known picture: its ${file.bytes} bytes do not begin like PNG, JPEG or WebP. The name of the file does not matter.`;
  return invalid(field, message);
}
