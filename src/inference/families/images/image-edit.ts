import { type PictureType, pictureStartBytes, pictureTypeOfStart } from '../../../formats/media/images/picture-type.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { SpooledFile } from '../../../net/spool.ts';
import type { UploadedForm } from '../../spine/form-content.ts';

/** Pictures to be changed, on disk while their request runs. */
export interface ImageEdit {
  pictures: readonly UploadedPicture[];
  /** Its transparent parts are those to be made anew. */
  mask: UploadedPicture | null;
}

export interface UploadedPicture {
  type: PictureType;
  file: Pick<SpooledFile, 'bytes' | 'read'>;
}

/** The bound of OpenAI's newest models. */
const picturesMax = 16;
/** With the mask. */
export const editFilesMax = picturesMax + 1;

/** `image`, `image[]` or `image[0]`, and so for `mask`: clients write lists in each of these ways. */
const pictureField = /^(image|mask)(?:\[\d{0,3}\])?$/;

/** The pictures of a form; the first fault found names its field. */
export async function readEditFiles({ files }: Pick<UploadedForm, 'files'>): Promise<ImageEdit | Failure> {
  const pictures: UploadedPicture[] = [];
  let mask: UploadedPicture | null = null;
  for (const { name, file, param } of files) {
    const field = pictureField.exec(name)?.[1];
    if (field === undefined) {
      const shown = name.slice(0, 80);
      return invalid(shown, `The form's file '${shown}' is not known. Send pictures as 'image' and 'mask'.`);
    }
    const picture = await readPicture(param ?? field, file);
    if (isFailure(picture)) return picture;
    if (field === 'image') pictures.push(picture);
    else if (mask === null) mask = picture;
    else return invalid('mask', "The form has 'mask' twice. Send it once.");
  }
  if (pictures.length === 0) {
    return invalid('image', "Missing 'image': send the picture to change as a file of the form, a PNG, JPEG or WebP.");
  }
  if (pictures.length > picturesMax) {
    return invalid('image', `'image' has ${pictures.length} pictures. Send at most ${picturesMax}.`);
  }
  return { pictures, mask };
}

async function readPicture(field: string, file: SpooledFile): Promise<UploadedPicture | Failure> {
  if (file.bytes === 0) return invalid(field, `'${field}' is empty: it has 0 bytes.`);
  const type = pictureTypeOfStart(await file.head(pictureStartBytes));
  if (type !== null) return { type, file };
  const message = `'${field}' is not a known picture: its ${file.bytes} bytes do not begin like PNG, JPEG or WebP. The name of the file does not matter.`;
  return invalid(field, message);
}
