import type { TextIndexes } from '../filter/with-text-indexes.ts';
import { readTextIndex } from '../wire/read-text-options.ts';
import type { CollectionRow } from './collection-row.ts';

/** Those of a collection's payload indexes that say how texts are taken apart. */
export function textIndexesOf(indexes: CollectionRow['indexes']): TextIndexes {
  return (wanted) => {
    const found = indexes.find(({ key, type }) => key === wanted && type === 'text');
    return found?.params === undefined ? null : readTextIndex(found.params, 'field_schema');
  };
}
