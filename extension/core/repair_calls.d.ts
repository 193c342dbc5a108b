// What the core's calls about repairing, comparing and merging ask for and answer.

import type {
    Conflict, Difference, EntryDifference, Finding, LoreChange, LoreEntry, MergePlan, MergeStep, Part, RepairSource, Settled, WantedEntries, Word,
} from '../types.js';

type Book = Uint8Array;

/** A chat as an array of its header and its messages. */
type Lines = ST.Line[];

/** An answer, and the book that comes with it. */
interface WithBook<Value> {
    value: Value;
    book?: Book;
}

interface TimelineAsk {
    name: string;
    group: string | null;
    character: string | null;
    metadata: ST.Metadata;
}

// Repair.

export type Repair = RepairSource | 'restore' | 'split' | 'follow';

export interface RepairAsk<How extends Repair> {
    how: How;
    /** Its name. */
    chat: string;
    group: boolean;
    bookName: string | null;
    /** For a new book; the new name, to follow a book that was renamed. */
    freeName: string;
    now: string;
    /** To restore. */
    message: number | null;
    /** The name of the book to copy. */
    copied: string | null;
}

export interface RepairPlan<How extends Repair> {
    possible: true;
    book: How extends 'detach' | 'follow' ? null : { name: string; entries: number };
    /** Whether there is a file of that name. */
    replaces: boolean;
    part: How extends 'detach' | 'follow' ? null : Part;
    remarks: Word[];
    /** `null` if the chat does not change. */
    metadata: ST.Metadata | null;
    /** Those that change, by number. */
    messages: Record<string, ST.Message>;
}

export interface NoRepair {
    possible: false;
    reason: Word;
}

/** `other` is the book to copy or, for a split, the parent's chat. */
export type PlanRepair = <How extends Repair>(ask: RepairAsk<How>, chat: Lines, book: Book | undefined, other: Book | undefined) =>
    WithBook<RepairPlan<How> | NoRepair>;

/** `books` is a JSON object of books by name. */
export type Verify = (ask: { timelines: (TimelineAsk & { messages: number })[] }, books: Uint8Array) => VerifiedTimeline[];

export interface VerifiedTimeline {
    name: string;
    findings: Finding[];
    /** Missing unless its book was read. */
    entries?: number;
}

/** The numbers of the timelines to be split off, and the name of the one that keeps the book of the first. */
export type SplitOff = (ask: { timelines: TimelineAsk[]; family: boolean }) => { keeper: string | null; split: number[] };

// The lore at a message.

export interface MomentAsk {
    group: boolean;
    isOpen: boolean;
    bookName: string | null;
    /** `null` for the last one. */
    message: number | null;
}

export type ReadLore = (ask: MomentAsk, chat: Lines, book: Book | undefined) => LoreThen | { known: false; message: number };

export interface LoreThen {
    known: true;
    message: number;
    part: Part;
    book: string | null;
    entries: LoreEntry[];
    changes: LoreChange[];
}

/** The book is missing if there was none. */
export type MomentBook = (ask: MomentAsk, chat: Lines, book: Book | undefined) => WithBook<{
    known: boolean;
    /** `null` if it is not known. */
    part: Part | null;
    book: string | null;
    metadata: ST.Metadata;
    metadataPart: Part;
}>;

// Comparing and merging.

export type Compare = (ask: CompareAsk, base: Book | undefined, left: Book | undefined, right: Book | undefined) => Compared;

export interface CompareAsk {
    baseKnown: boolean;
    baseMetadata: ST.Metadata | null;
    leftMetadata: ST.Metadata | null;
    rightMetadata: ST.Metadata | null;
}

export interface Compared {
    entries: EntryDifference[];
    book: Difference[];
    recap: Difference[];
    variables: Difference[];
    other: Difference[];
}

/** Where two timelines diverge. */
export interface ForkPoint {
    /** The chat that both were forked from. */
    chat: string | null;
    message: number | null;
    isSealed: boolean;
    digest: string | null;
}

export type FindForkPoint = (ask: { timelines: TimelineAsk[]; left: string; right: string }) => ForkPoint | null;

/** `chats` and `books` are in the order of `witnesses`. */
export type FindMergeBase = (ask: MergeBaseAsk, chats: Lines[], books: unknown[]) => WithBook<MergeBase | { known: false; parting: number | null }>;

export interface MergeBaseAsk {
    group: boolean;
    message: number | null;
    digest: string | null;
    isSealed: boolean;
    /** The first two are compared. */
    witnesses: { name: string; bookName: string | null }[];
}

export interface MergeBase {
    known: true;
    how: 'sealed' | 'recorded' | 'earlier';
    message: number;
    parting: number;
    metadata: ST.Metadata | null;
}

/** The book is ours, merged. */
export type Merge = (ask: MergeAsk, base: Book | undefined, ours: Book, theirs: Book) => WithBook<Merged> & { book: Book };

export interface MergeAsk {
    baseKnown: boolean;
    only: WantedEntries | null;
    settle: Settled;
    otherwise: 'ours' | 'theirs' | null;
    ourBook: string | null;
    theirBook: string | null;
    ourMetadata: ST.Metadata | null;
    theirMetadata: ST.Metadata | null;
}

export interface Merged extends Pick<MergePlan, 'kept' | 'twins' | 'changes'> {
    steps: MergeStep[];
    conflicts: Conflict[];
    /** The book's own fields that change. */
    book: string[];
    /** Ours, if it changes. */
    metadata: ST.Metadata | null;
}
