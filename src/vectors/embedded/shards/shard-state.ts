import type { Clock } from '../../../kernel/clock.ts';
import { putNewest } from '../../../kernel/put-newest.ts';
import type { Random } from '../../../kernel/random.ts';
import type { WorkTurns } from '../../../kernel/sharing/work-turns.ts';
import { noCollection } from '../../vector-refusals.ts';
import type { CallBounds } from '../call-bounds.ts';
import type { CollectionRow } from '../collection-row.ts';
import { type CollectionTable, openCollectionTable } from '../collection-table.ts';
import type { Pace } from '../columns/columns.ts';
import { createDamage, type Damage } from '../damage.ts';
import { createGroupCommit, type GroupCommit } from '../group-commit.ts';
import type { CodeImage } from '../index/code-image.ts';
import { finish, type Steps } from '../index/resumable-steps.ts';
import { columnsKey, type ImageKey, IndexImages, imageKey } from '../index-images.ts';
import type { IndexMaking, Made } from '../index-making.ts';
import type { MemoryBudget } from '../memory-budget.ts';
import { openFieldTable } from '../named-vector-rows.ts';
import { createOpenCollections, type OpenCollection, type OpenCollections } from '../open-collection.ts';
import { type MemoryPart, PartMissing } from '../part-missing.ts';
import { openPointTable } from '../point-table.ts';
import type { QueryBatches } from '../query/query-batches.ts';
import type { RowWatch } from '../row-watch.ts';
import { DamagedRows, overloaded } from '../storage-trouble.ts';
import type { VectorTables } from '../vector-rows.ts';
import type { ShardFile } from './shard-file.ts';

/** Rows of dropped collections removed at a time, while nothing else waits. */
const purgedRows = 512;
/** Fewer rows are read again as soon as an image of them. */
const imageRowsMin = 5_000;
/** Bytes of an index for each byte of its image, at most: its bits may come on top. */
const bytesOfImage = 1.25;
/** How often a call makes an index that it needs, and any part of memory. */
const triesMax = 4;
const partsMax = 100;
/** Rows of collections in memory. */
const rowsMax = 1_000;

export interface ShardOptions {
  file: ShardFile;
  budget: MemoryBudget;
  random: Random;
  clock: Pick<Clock, 'monotonicMs'>;
  report(message: string): void;
  bounds: CallBounds;
  /** Shared by all shards of the thread. */
  batches: QueryBatches;
  making: IndexMaking;
  /** The thread's turns. */
  turns: Pick<WorkTurns, 'isOver' | 'isSuspended'>;
  watch: RowWatch;
  /** Bytes that an account keeps more, or less, once that is durable. */
  onStoredBytes(account: string, bytes: number): void;
}

/** A shard's file with its open state: how its collections are read and changed. */
export class ShardState {
  readonly options: ShardOptions;
  readonly collections: CollectionTable;
  readonly tables: VectorTables;
  readonly opened: OpenCollections;
  readonly damage: Damage;
  readonly group: GroupCommit;
  readonly images: IndexImages;
  /** By collection and vector, the write after which its index was last looked at. */
  readonly #seenAtWrite = new Map<string, number>();
  /** Rows of collections by tenant and name or alias, as they were after the commit of that number. */
  readonly #rows = new Map<string, CollectionRow>();
  #rowsAt = 0;
  #keeping = Promise.resolve();
  #closing = false;

  constructor(options: ShardOptions) {
    const { file, budget, report, clock } = options;
    this.options = options;
    this.collections = openCollectionTable(file);
    this.collections.check();
    const points = openPointTable(file);
    this.tables = { points, fields: openFieldTable(file) };
    this.images = new IndexImages(file);
    this.opened = createOpenCollections(this.tables, {
      memoryOf: (row, vectors, now) => budget.memoryOf(points, row, vectors, now, this.images),
      hasImage: (row, vector) => this.images.look(imageKey(row, vector)) !== null,
    });
    this.damage = createDamage(report);
    this.group = createGroupCommit(file, {
      onIdle: () => this.#purgeSome(),
      isHeld: options.turns.isSuspended,
      notify: report,
      clock,
    });
    setImmediate(() => this.#purgeSome());
  }

  /** By name or alias. Throws a FailureError (404) when there is none. */
  rowOf(tenant: string, name: string): CollectionRow {
    const row = this.damage.guardTable(() => this.collections.find(tenant, name));
    if (row === null) throw noCollection(name);
    return row;
  }

  /** For readings, which change no row, and outside of transactions. By name or alias; null when there is none. */
  findToRead(tenant: string, name: string): CollectionRow | null {
    const commits = this.group.commits();
    if (commits !== this.#rowsAt) this.#rows.clear();
    this.#rowsAt = commits;
    const key = `${tenant}\0${name}`;
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = this.damage.guardTable(() => this.collections.find(tenant, name));
    if (row !== null) putNewest(this.#rows, key, row, rowsMax);
    return row;
  }

  /** The same; throws a FailureError (404) when there is none. */
  #rowToRead(tenant: string, name: string): CollectionRow {
    const row = this.findToRead(tenant, name);
    if (row === null) throw noCollection(name);
    return row;
  }

  reading<T>(tenant: string, name: string, read: (open: OpenCollection) => T): T {
    this.options.watch.begin();
    return this.options.file.reading(() => {
      const row = this.#rowToRead(tenant, name);
      return this.damage.guard(row, () => read(this.opened.open(row)));
    });
  }

  /**
   * The same in steps, each of which is a reading that lasts until the turn is over. No step may run while the collection
   * changes: writes of a tenant whose reading is suspended are held back until it has ended.
   */
  *readingInSteps<T>(tenant: string, name: string, read: (open: OpenCollection) => Steps<T>): Steps<T> {
    const { file, watch, turns } = this.options;
    watch.begin();
    let pinned: OpenCollection | null = null;
    const untilOver = (steps: Steps<T>) => {
      for (;;) {
        const step = steps.next();
        if (step.done || turns.isOver()) return step;
      }
    };
    try {
      const begun = file.reading(() => {
        const row = this.#rowToRead(tenant, name);
        const open = this.damage.guard(row, () => this.opened.open(row));
        open.pins += 1;
        pinned = open;
        const steps = read(open);
        return { row, steps, step: this.damage.guard(row, () => untilOver(steps)) };
      });
      const { row, steps } = begun;
      let { step } = begun;
      while (!step.done) {
        const goOn = watch.pause();
        yield;
        goOn();
        step = file.reading(() => this.damage.guard(row, () => untilOver(steps)));
      }
      return step.value;
    } finally {
      this.#endSteps(pinned);
    }
  }

  #endSteps(pinned: OpenCollection | null): void {
    if (pinned === null) return;
    pinned.pins -= 1;
    this.group.commitHeld();
  }

  /**
   * The result of `attempt`, which reads that collection: where it finds an index or columns missing, they are made in
   * steps between other calls, and `attempt` is made again.
   */
  async withMemory<T>(tenant: string, name: string, attempt: () => T | Promise<T>): Promise<T> {
    let tries = 0;
    for (let parts = 1; ; parts += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof PartMissing)) throw error;
        if (this.#closing) throw overloaded('The vector store is stopping. Retry it.');
        if (error.part.kind === 'index') tries += 1;
        if (tries === triesMax || parts === partsMax) {
          throw overloaded(`Collection '${name}' is being indexed. Retry it.`);
        }
        const made = this.#make(tenant, name, error.part, tries === triesMax - 1 ? 'now' : 'in-steps');
        await (tries === 1 ? made.usable : made.done);
      }
    }
  }

  /** Other collections of the tenant, inside a reading. */
  lookUpOf(tenant: string): (name: string) => OpenCollection {
    return (name) => {
      const row = this.#rowToRead(tenant, name);
      return this.damage.guard(row, () => this.opened.open(row));
    };
  }

  /** A change of tables alone, without points. `tenant`: whose collections it is about; null for none. */
  change<T>(tenant: string | null, run: () => T, done: () => void = () => {}): Promise<T> {
    const work = () => this.damage.guardTable(run);
    return this.group.add({ tenant, points: 1, run: work, committed: done, undone() {} });
  }

  /** Keeps images of large indexes whose collections have not been written since the last call of this. Never throws. */
  keepImages(): Promise<void> {
    const work = async () => {
      for (const { key, image, place } of this.#images()) {
        const isQuiet = this.#seenAtWrite.get(place) === key.seq;
        this.#seenAtWrite.set(place, key.seq);
        if (isQuiet && !this.images.has(key, image)) await this.#keep(key, image, () => this.#closing);
      }
    };
    this.#keeping = this.#keeping.then(work);
    return this.#keeping;
  }

  /** Keeps images of all large indexes, of those first that were used last, until it is too late. Never throws. */
  async keepAllImages(untilMs: number): Promise<void> {
    await this.#keeping;
    this.group.flush();
    const isLate = () => this.options.clock.monotonicMs() > untilMs;
    for (const { key, image } of [...this.#images()].reverse()) {
      if (!this.images.has(key, image)) await this.#keep(key, image, isLate);
    }
  }

  *#images(): Iterable<{ key: ImageKey; image: CodeImage; place: string }> {
    for (const { cid, vectors, memory } of [...this.opened.all()]) {
      for (const vector of vectors.values()) {
        const image = memory.image(vector.name);
        if (image === null || image.count < imageRowsMin) continue;
        const row = this.#rowNow(cid);
        if (row !== null) yield { key: imageKey(row, vector), image, place: `${cid} ${vector.name}` };
      }
      const row = this.#rowNow(cid);
      const image = row === null || row.points < imageRowsMin ? null : memory.columnImage();
      if (row !== null && image !== null) yield { key: columnsKey(row), image, place: `${cid} columns` };
    }
  }

  async #keep(key: ImageKey, image: CodeImage, isOver: () => boolean): Promise<void> {
    const { isCurrent } = image;
    await this.images.save(key, { ...image, isCurrent: () => isCurrent() && !isOver() }, (work) =>
      this.change(null, work),
    );
  }

  /** Makes the indexes that an image is kept of, as long as no other must give its memory back for them. Never throws. */
  async takeUpImages(): Promise<void> {
    for (const cid of this.images.collections()) {
      try {
        const row = this.#rowNow(cid);
        if (row === null) continue;
        const { tenant } = row;
        const { vectors } = this.reading(tenant, row.spec.name, (open) => open);
        // They are small, and filters wait for them.
        if (this.images.look(columnsKey(row)) !== null) {
          await this.#make(tenant, row.spec.name, { kind: 'columns', keys: [] }, 'in-steps').done;
        }
        for (const vector of vectors.values()) {
          const image = this.images.look(imageKey(row, vector));
          if (image === null || image.bytes * bytesOfImage > this.options.budget.bytesFree) continue;
          await this.#make(tenant, row.spec.name, { kind: 'index', vector: vector.name }, 'in-steps').done;
        }
      } catch {
        // The first search finds the same, and says so to its caller.
      }
    }
  }

  /** Waiting writes are committed first. */
  close(): void {
    this.#closing = true;
    this.group.flush();
    this.opened.closeAll();
    this.options.file.close();
  }

  /** `now`: at once, because memory is so short that a new index is dropped again before it is used. */
  #make(tenant: string, name: string, part: MemoryPart, pace: Pace): Made {
    const { file, making } = this.options;
    const open = this.reading(tenant, name, (open) => open);
    const { cid, row, memory } = open;
    // A filter does not wait for all of an index of which a part serves.
    const line = part.kind === 'index' ? tenant : `${tenant}\0columns`;
    return making.run(line, JSON.stringify([file.number, cid, part]), () => {
      let reached: 'more' | 'usable' = 'more';
      const usable = () => {
        reached = 'usable';
      };
      const steps =
        part.kind === 'index' ? this.#makeChecked(open, part.vector, usable) : memory.makeColumns(part.keys);
      const work = () =>
        file.reading(() => (pace === 'now' ? finish(steps) === undefined : steps.next().done === true));
      return {
        step: () => {
          reached = 'more';
          return this.damage.guard(row, work) ? 'done' : reached;
        },
        isOver: () => memory.isClosed,
        stop: () => void steps.return(),
      };
    });
  }

  /** Points that nobody counted as the collection was opened are counted at the end. */
  *#makeChecked(open: OpenCollection, vector: string, usable: () => void): Steps<void> {
    yield* open.memory.make(vector, usable);
    if (open.isCounted) return;
    yield;
    const count = this.tables.points.count(open.cid);
    if (count !== this.#rowNow(open.cid)?.points) throw new DamagedRows('the number of points');
    open.isCounted = true;
  }

  /** The row on the disk; null when it is gone. */
  #rowNow(cid: number): CollectionRow | null {
    try {
      return this.collections.byCid(cid);
    } catch {
      return null;
    }
  }

  /** Points of dropped collections are removed in small steps, so that a drop costs nothing and holds nobody up. */
  #purgeSome(): void {
    if (this.#closing || !this.group.idle()) return;
    let cid: number | undefined;
    try {
      cid = this.collections.doomed().find((one) => !this.damage.has(one));
    } catch {
      return;
    }
    if (cid === undefined) return;
    const doomed = cid;
    const { points, fields } = this.tables;
    this.change(null, () => {
      const purged = points.purge(doomed, purgedRows) || fields.purge(doomed, purgedRows);
      if (purged > 0) return;
      this.collections.forget(doomed);
      this.images.forget(doomed);
    }).catch(() => this.damage.note(doomed));
  }
}
