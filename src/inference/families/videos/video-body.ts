import type { PictureType } from '../../../formats/media/images/picture-type.ts';
import type { VideoRequest } from '../../../formats/media/videos/format.ts';
import type { RequestBody, RequestFacts } from '../../spine/request-body.ts';
import type { SendableFile } from '../../spine/upload-body.ts';

/** The picture that a video begins with, on disk while its request runs. */
export interface FirstPicture {
  type: PictureType;
  file: SendableFile;
}

export type VideoBody = RequestBody<RequestFacts> & {
  request: VideoRequest;
  picture: FirstPicture | null;
  /** The video that is to be remixed, and the credential that has it; null: a new one. */
  remixOf: { id: string; credential: string } | null;
};
