/** Sizes of the pictures that links open. Drivers: stores/. */
export interface PictureSizes {
  /** Notes a picture of `account`, which counts until `untilMs` by the wall clock. Forgets those that ended before `nowMs`. */
  add(picture: { account: string; bytes: number; nowMs: number; untilMs: number }): Promise<void>;
  close(): Promise<void>;
}
