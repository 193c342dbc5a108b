// The shapes that several parts of the extension share.

// Values from outside are unknown until somebody says what they are; the standard library would let them pass as anything.
declare global {
    interface JSON {
        parse(text: string): unknown;
    }

    interface ArrayConstructor {
        isArray(value: unknown): value is unknown[];
    }

    interface ObjectConstructor {
        entries<T>(object: Record<string, T> | ArrayLike<T>): [string, T][];
        entries(object: object): [string, unknown][];
        values<T>(object: Record<string, T> | ArrayLike<T>): T[];
        values(object: object): unknown[];
    }

    interface Body {
        json(): Promise<unknown>;
    }

    interface Promise<T> {
        catch<Other = never>(onRejected: (error: unknown) => Other | PromiseLike<Other>): Promise<T | Other>;
    }

    /** What Forklore and other extensions add to SillyTavern's data. */
    namespace ST {
        interface Message {
            forklore?: JournalRecord;
        }

        interface Metadata {
            forklore?: Seal;
            /** The lorebooks that the chat's own one replaces in the prompt. */
            forklore_instead?: unknown;
            forklore_copy?: unknown;
        }

        interface ExtensionSettings {
            forklore?: Partial<Settings>;
            /** ST-Auto-Recap's; some of its settings are kept by the name of the chat. */
            auto_recap_memory?: Record<string, Record<string, unknown> | undefined>;
        }
    }
}

// SillyTavern as the rest of Forklore sees it.

export type Host = typeof import('./sillytavern/host.js');
export type Core = typeof import('./core/core.js').core;
export type TavernScreen = typeof import('./sillytavern/screen.js');

/** A character or a group; the other one is null. */
export interface Owner {
    group: string | null;
    avatar: string | null;
}

/** Which chat. */
export interface ChatId extends Owner {
    name: string;
}

/** A chat with its messages. */
export interface LoadedChat extends ChatId {
    messages: ST.Message[];
    metadata: ST.Metadata;
    book: string | null;
    /** Only of a chat that was read from its file, if there is one. */
    header?: ST.Header;
}

export interface OpenChat extends LoadedChat {
    integrity: string | null;
}

export interface ShortHead extends ChatId {
    /** How many. */
    messages: number;
    /** Missing if the header cannot be read. */
    metadata?: ST.Metadata;
}

/** What is known of a chat without its messages. */
export interface Head extends ShortHead {
    /** The last message, and when it was sent, in milliseconds. */
    preview: string;
    date: number | null;
}

/** A place other than a chat that refers to a book. */
export interface BookReference {
    book: string;
    place: 'global' | 'character' | 'persona' | 'card';
    name: string;
    /** Of the character that has it; known for the open chat's. */
    avatar?: string;
}

export interface Settings {
    isolate: boolean;
    requireScene: boolean;
    whenInexact: 'ask' | 'nearest' | 'refuse';
    whenBusy: 'wait' | 'drain' | 'without';
    waitSeconds: number;
    autoName: boolean;
    nameTemplate: string;
    branchTitle: string;
    checkpointAtScenes: boolean;
    warnings: boolean;
    journal: boolean;
    journalLimit: number;
    cleanUp: boolean;
    guard: boolean;
    markLore: boolean;
    /** How long deleted timelines are kept; 0 means not at all. */
    trashDays: number;
    /** In MB, for all of them. */
    trashLimit: number;
    /** Avatars of characters that were deleted without their chats. */
    leftBehind?: string[];
    /** Lorebooks that many chats share, if the user was told about them. */
    toldBooks?: string[];
    /** What is always wanted for a character's lorebooks in forks that have no other lore: by avatar and book. */
    lore?: Record<string, Record<string, LoreChoice>>;
    /** By owner: timelines that are gone, but not their forks. */
    ghosts?: Record<string, Ghost[]>;
}

/** A message: who speaks, and what is said. Both may be empty. */
export interface Spoken {
    name: string;
    text: string;
}

/** A message among those of its chat. */
export interface ListedMessage extends Spoken {
    /** How many timelines fork off there. */
    forks: number;
    /** Whether the lorebook changed there. */
    hasNewLore: boolean;
}

/** What is marked at the messages of the open chat. */
export interface Marks {
    /** The names of timelines, by the message where they fork off. */
    forks: Map<number, string[]>;
    /** The messages at which the lorebook changed. */
    lore: Set<number>;
}

/** A message in words, from its number. */
export type SayMessage = (message: number) => string;

// What the core says.

/** A message of the core: a code, and what to fill in. */
export interface Word {
    code: string;
    values?: Record<string, unknown>;
}

export interface Finding extends Word {
    problem: boolean;
}

/** An error that can be shown in the user's language. */
export interface WordError extends Error {
    word: Word;
}

/** How well something is known. */
export interface Part {
    exactness: 'exact' | 'snapshot' | 'settled' | 'live';
    source?: 'files' | 'unchanged' | 'journal' | 'history' | 'recap' | 'chosen';
    as_of?: number;
    settled_at?: number;
    /** Whether it was last seen at the very message. */
    here?: boolean;
}

/** What Forklore writes into a child's metadata. Files may hold anything, so nothing of it is certain. */
export interface Seal {
    kind?: string;
    made?: string;
    parent?: { chat?: string; message?: number };
    book?: Partial<Part> & { name?: string; from?: string; entries?: number };
    running_recap?: { version?: number; scenes?: number };
    combined_recap?: { messages?: number };
}

/** What Forklore writes into a message, for the core alone: see docs/reference/format.md. */
export interface JournalRecord {
    v: 1 | 2;
    /** Of the state after this message. */
    id: string;
    /** Missing in format 1. */
    uid?: string;
    /** What was seen when the message arrived. */
    came?: { after: string; book?: string; metadata?: string; assumed?: true; file?: boolean };
    assumed?: true;
    unsaved?: true;
    gap?: number;
    digest?: true;
    whole?: RecordedState;
    'whole.deflated'?: string;
    after?: string;
    delta?: { name?: string; entries?: ChangedMembers; fields?: ChangedMembers; metadata?: ChangedMembers };
    'delta.deflated'?: string;
}

export interface RecordedState {
    book: { name: string; content: ST.Book } | null;
    metadata: ST.Metadata;
}

/** What changed in an object. In a text: how much of its start stays, what comes in between, and how much of its end stays. */
export interface ChangedMembers {
    removed?: string[];
    set?: Record<string, unknown>;
    in?: Record<string, ChangedMembers | (number | string)[]>;
}

// The screen.

export type ToastKind = 'success' | 'info' | 'warning' | 'error';
export type ToastContent = string | Node | Array<string | Node>;

export interface ToastOptions {
    title?: string;
    buttons?: { text: string; run: () => void }[];
    sticky?: boolean;
    /** It tells of something that lasts and can be seen elsewhere, so that it is shown when no dialog is open. */
    isState?: boolean;
    /** How long it stays, unless it is sticky. */
    seconds?: number;
    closeLabel?: string;
}

export interface PopupOptions<Value> {
    wide?: boolean;
    large?: boolean;
    /** No button without a text. */
    okText?: string | null;
    cancelText?: string | null;
    /** Before OK. */
    buttons?: { text: string; value: Value; icon?: string; title?: string; disabled?: boolean }[];
    /** The button that Enter presses initially. */
    focus?: 'ok' | 'cancel';
    /** Called before it closes with a value other than null. */
    mayClose?: (value: Value | 'ok') => boolean;
    /** An additional class. */
    look?: string;
}

export type ForkKind = 'checkpoint' | 'branch';

/** An item of one of SillyTavern's menus. */
export interface MenuItem {
    id: string;
    icon: string;
    text: string;
    run: () => void;
}

/** A button at a message. */
export interface MessageMark {
    text: string;
    /** Also for screen readers. */
    title: string;
}

/** What a slash command was given by name. */
export type NamedValues = Record<string, string | undefined>;

export interface Argument {
    /** Of a named argument. */
    name?: string;
    description: string;
    /** `message`: one of the open chat's messages. */
    type: 'string' | 'number' | 'bool' | 'message';
    /** The allowed values. */
    values?: string[];
    byDefault?: string;
    isRequired?: boolean;
}

export interface Command {
    name: string;
    help: string;
    exampleTitle: string;
    examples: { code: string; text: string }[];
    returns: string;
    named: Argument[];
    unnamed: Argument[];
    run: (named: NamedValues, unnamed: string) => Promise<string>;
}

/** One of SillyTavern's own commands that asks first whether it may run. */
export interface GuardedCommand {
    name: string;
    mayRun: (named: Record<string, unknown>, unnamed: unknown) => boolean;
}

// What the app offers to the user interface.

export interface AppForUi {
    settings: Settings;
    pendingFork: PendingFork | null;
    openFindings: OpenFindings | null;
    marks: Marks;
    timelines: TimelinesForUi;
    labels: LabelsForUi;
    search: SearchForUi;
    several: SeveralForUi;

    on<Event extends keyof AppEvents>(event: Event, listener: (value: AppEvents[Event]) => void): void;
    saveSettings(): void;
    open(): { name: string; group: boolean; messages: number } | null;
    /** A message of the open chat. */
    messageAt(message: number): Spoken | null;
    /** The first message of the open chat that has a record. */
    recordedSince(): number | null;
    /** The timelines that fork off at a message of the open chat and still exist. */
    forksAt(message: number): Promise<string[]>;
    /** The message that a timeline was forked at, if it is in the open chat. */
    forkMessage(timeline: Pick<ShownTimeline, 'name' | 'parent' | 'message'>): Spoken | null;
    readiness(): Promise<Readiness>;
    hasAutoRecap(): boolean;
    check(message: number): Promise<ForkCheck>;
    /** Throws if a message up to this one is being edited. */
    refuseEdited(message: number): void;
    /** `null` if there is no fork, or not yet. */
    fork(what: ForkRequest): Promise<ForkReport | null>;
    suggestName(message: number): Promise<string> | string;
    stopWaiting(): void;
    lore(message: number): Promise<Lore>;
    restore(message: number, options: { dryRun: boolean }): Promise<BookReport>;
    verifyOpen(): Promise<{ chat: string; findings: Finding[] }>;
    verifyAll(progress: (done: number, total: number) => void): Promise<VerifiedChat[]>;
    repairOptions(): Promise<RepairOptions>;
    repair(choice: RepairChoice): Promise<RepairReport>;
    splitPlan(options: { family: boolean }): Promise<SplitPlan>;
    split(options: { family: boolean }): Promise<SplitPlan>;
    /** Gives the open chat its own copy of a lorebook, which replaces it in the prompt. */
    giveCopy(book: string): Promise<RepairReport>;
    /** The lorebook that was copied is used again. `unlink`: the chat is unbound from its copy. */
    useOriginal(options: { unlink: boolean }): Promise<void>;
    cleanupPlan(): Promise<CleanupPlan>;
    clean(): Promise<{ removed: string[]; undo: string | null }>;
    /** Puts back what is in the trash. */
    undo(token: string): Promise<PutBackReport>;
    /** What is in the trash, newest first. */
    trashList(): Promise<TrashedItem[]>;
    /** Finds what the list has lost; how many, or `null` if that would take long and was not asked for. */
    findInTrash(how: { isAsked: boolean }): Promise<number | null>;
    dropFromTrash(token: string): Promise<void>;
    namesToSave(token: string): Promise<NameToSave[]>;
    /** Saves copies under other names, and returns these. */
    saveFromTrash(token: string, names: string[]): Promise<string[]>;
    /** How many records were removed. */
    strip(): Promise<number>;
    allChats(): Promise<AllChats>;
    /** Removes the journal from all chats, one by one, as long as it is wanted. */
    stripAll(all: AllChats, how: { progress: (done: number, total: number) => void; isWanted: () => boolean }): Promise<StripReport>;
    showOwnBook(): void;
    compare(what: { left: Moment; right: Moment }): Promise<ComparedModel>;
    timelineChoices(): Promise<TimelineChoice[]>;
    /** All messages of a timeline of the open chat's character or group. */
    messagesOf(chat: string): Promise<ListedMessage[]>;
    bringPlan(request: MergeRequest): Promise<MergePlan>;
    bring(request: MergeRequest, seen?: MergePlan | null): Promise<Brought | StalePlan>;
}

/** A file of the user's that no chat refers to. */
export interface LooseFile {
    name: string;
    size?: number;
}

export interface AppEvents {
    changed: void;
    timelines: void;
    marks: void;
    /** A fork waits, and what it waits for is known. */
    waiting: PendingFork;
    forked: ForkReport;
    opened: { findings: Finding[] };
    checked: { findings: Finding[] };
    lost: { book: string; canBringBack: boolean };
    common: BookReference;
    /** `isKept`: the chat itself is in the trash, too. */
    removed: { chat: string; books: string[]; undo: string | null; isKept?: boolean };
    merged: { book: string; entries: { title: string }[]; isGone?: boolean };
    kept: { book: string; kept: { isMine: boolean; token: string }[]; isLate?: boolean };
    /** SillyTavern's Clean-Up does not list these files of Forklore's. */
    unlisted: { count: number; bytes: number };
    editor: { chat: string; own: string | null } | null;
    failed: unknown;
}

export interface PendingFork {
    kind: ForkKind;
    message: number;
    /** Of ST-Auto-Recap, that it waits for. */
    operations: number;
    paused: boolean;
}

export interface OpenFindings {
    findings: Finding[];
    when: 'opened' | 'again';
}

export type Reach = 'open' | 'owner' | 'all';

export interface Readiness {
    state: 'no-chat' | 'off' | 'no-book' | 'common' | 'missing' | 'waiting' | 'paused' | 'shared' | 'elsewhere' | 'ready';
    book: string | null;
    entries: number;
    operations: number;
    /** Chats that use the same book, and whether relatives are among them. */
    sharedWith: string[];
    hasFamily: boolean;
    /** Which chats were checked. */
    reach: Reach | null;
    owner: string;
    /** Where else the book is selected. */
    selected: BookReference['place'][];
    /** If the chat has no book of its own: the books that it shares with many chats. */
    common: BookReference[];
    /** The books that its own one replaces. */
    leftOut: string[];
    origin: Origin | null;
}

/** Where a chat was forked from, according to its seal. */
export interface Origin {
    kind: ForkKind;
    parent: string;
    message: number | null;
    /** In milliseconds; NaN if it is not known. */
    made: number;
    recap: number | null;
    scenes: number | null;
    combined: number | null;
}

export interface ForkCheck {
    obstacles: Word[];
    remarks: Word[];
    /** `null` if there is none, or nothing is known. */
    book: Part | null;
    metadata: Part | null;
}

export interface ForkRequest {
    kind: ForkKind;
    message: number;
    name?: string;
    /** Waits for pending work without asking. */
    whenReady?: boolean;
    ask?: boolean;
}

export interface ForkReport {
    kind: ForkKind;
    parent: string;
    child: string;
    message: number;
    book: { name: string; entries: number } | null;
    part: Part | null;
    metadata: Part | null;
    remarks: Word[];
    recap?: { version: number | null; scenes: number } | null;
    combined?: number | null;
    isConversion?: boolean;
    /** The user was asked, and took what is known of the lore. */
    wasChosen?: boolean;
}

/** What to ask the user before a fork. */
export interface ForkQuestion {
    obstacles: Word[];
    remarks?: Word[];
    part?: Pick<Part, 'exactness' | 'as_of'> | null;
    /** What stands in the way: everything, something that is being written, the book, or lore that is not exactly known. */
    topic: 'no' | 'busy' | 'book' | 'reply' | 'inexact';
    /** The best one first. */
    choices: ForkChoice[];
}

/** What becomes of a character's lorebook in a fork that has no other lore. */
export type LoreChoice = 'own' | 'shared';

/** A lorebook of a character. */
export interface CharactersBook {
    book: string;
    avatar: string;
    /** The character's. */
    name: string;
}

export type ForkChoice = 'wait' | 'now' | 'drain' | 'nearest' | 'live' | 'without';

export interface LoreEntry {
    uid: number;
    title: string;
    content: string;
    keys: string[];
    disabled: boolean;
    internal: boolean;
}

export interface LoreChange extends LoreEntry {
    what: ChangeKind;
    fields: string[];
    /** What its content was. */
    before: string | null;
}

export type ChangeKind = 'added' | 'changed' | 'removed';

export interface Lore {
    message: number;
    part: Part;
    book: string | null;
    entries: LoreEntry[];
    changes: LoreChange[];
    isInherited?: boolean;
    /** Whether the chat has a book now. */
    hasBook?: boolean;
}

/** The book that a repair or a restore has written. */
export interface BookReport {
    book: string | null;
    entries: number;
    part: Part;
    remarks?: Word[];
    undo?: string | null;
}

/** How well the book is known; `null` if the chat was only detached from it. */
export interface RepairReport extends Omit<BookReport, 'part'> {
    part: Part | null;
}

export interface VerifiedChat {
    chat: string;
    /** The id of the character or group. */
    owner?: string;
    ownerName?: string;
    findings: Finding[];
}

/** A chat to open; the owner by avatar, group id or name. */
export interface ChatToOpen {
    chat: string;
    owner: string;
}

/** A value in a chat that is changed. */
export interface Edit {
    path: string[];
    /** The JSON of what it is changed from; missing if there was nothing. */
    before: string | undefined;
    /** Missing if it is removed. */
    after: unknown;
}

/** What is changed in a chat, and nothing else of it. */
export interface ChatEdits {
    metadata: Edit[];
    /** `message`: as it was planned for, at that number. */
    messages: { at: number; message: ST.Message; edits: Edit[] }[];
}

/** A book to write, and what to change in the chat that is bound to it. */
export interface BookChange {
    book?: { name: string } | null;
    bytes?: Uint8Array;
    /** Whether the book replaces one that has to go to the trash. */
    replaces?: boolean;
    /** `null` if the chat does not change. */
    edits?: ChatEdits | null;
    /** Restores the replaced book. */
    undo?: string;
}

export type RepairSource = 'journal' | 'recap' | 'copy' | 'empty' | 'detach';

export interface RepairChoice {
    source: RepairSource;
    /** The book to copy. */
    book?: string;
}

export interface RepairOptions {
    book: string | null;
    journal: { message: number } | null;
    recap: { message: number } | null;
    /** Those that it should have a copy of come first. */
    books: string[];
}

export interface SplitPlan {
    /** The chat that keeps the shared book. */
    keeper: string | null;
    chats: SplitChat[];
}

export interface SplitChat {
    name: string;
    book: string;
    entries: number;
    part: Part;
    open: boolean;
    /** Only once it is done. */
    undo?: string | null;
}

/** A book that Forklore made. */
export interface OurBook {
    name: string;
    bytes: number;
    /** The name of the chat. */
    madeFor: string;
}

export interface CleanupPlan {
    remove: OurBook[];
    keep: (OurBook & { reason: Word })[];
    unread: string[];
}

// The trash.

/** Why something is in the trash: a code, and what belongs to it. */
export interface Why {
    code: 'clean' | 'deleted' | 'timeline' | 'restore' | 'repair' | 'split' | 'merge' | 'rename' | 'conflict' | 'undecided' | 'undone' | 'unreadable' | 'text';
    [value: string]: unknown;
}

export interface KeptBook {
    name: string;
    text: string;
    /** The text that took its place. */
    replacedBy?: string;
}

/** A deleted chat: its file, and its place in the list of its group. */
export interface KeptChat extends ChatId {
    text: string;
    place?: number;
}

/** What other extensions keep in a message, and in its swipes. */
export interface KeptExtras {
    extra: ST.Message['extra'] | null;
    swipes: (ST.Message['extra'] | null)[];
}

/** What was changed in a chat. */
export interface KeptChange extends ChatId {
    integrity: string | null;
    /** The keys of its metadata, in their order. */
    keys: string[];
    /** The values of those keys that were changed. */
    before: ST.Metadata;
    after: ST.Metadata;
    messages: { at: number; before: KeptExtras; after: KeptExtras }[];
}

/** A file of the trash: see docs/reference/format.md. */
export interface TrashContent {
    format: number;
    when: string;
    /** A text in files of earlier versions. */
    why: Why | string;
    /** The chat that it is about. */
    of?: ChatId;
    books: KeptBook[];
    chat?: KeptChat;
    changes?: KeptChange[];
    /** Books that did not exist before. */
    made?: KeptBook[];
    renamed?: Owner & { from: string; to: string; integrity: string | null };
}

/** What the list says about a file of the trash. */
export interface TrashedItem {
    token: string;
    when: string;
    why: Why;
    books: string[];
    /** The name of the chat that is kept. */
    chat: string | null;
    of: ChatId | null;
    bytes: number;
}

export interface PutBackReport {
    /** Lorebooks, and those of them that replaced other content. */
    restored: string[];
    replaced: string[];
    /** Chats that exist again. */
    chats: string[];
    /** Chats in which something was undone. */
    undone: string[];
    /** What was not put back, because it exists or was changed since. */
    blocked: string[];
    /** Lines of a chat that SillyTavern cannot read. */
    unreadable: number;
}

export interface NameToSave {
    isChat: boolean;
    name: string;
    free: string;
}

// Timelines.

export interface ShownTimeline {
    /** Its name; for a parent that is gone, its former name or something that cannot be a name. */
    id: string;
    name: string;
    /** An id. */
    parent: string | null;
    /** The id of its root. */
    family: string;
    kind: 'main' | 'checkpoint' | 'branch' | 'fork' | 'gone';
    /** Where it was forked. */
    message: number | null;
    messages: number;
    preview: string;
    date: number | null;
    made: string | null;
    book: string | null;
    entries: number | null;
    /** How many entries differ from its parent's book; 0 if that is not known. */
    differs: number;
    /** How well its book is known. */
    part: Part | null;
    findings: Finding[];
    isOpen: boolean;
    /** Whether its header was read. */
    isRead: boolean;
    label: Label;
}

/** A timeline that is gone, with the parent that it named. */
export interface Ghost {
    name: string;
    parent: string;
    /** Where it was forked. */
    message: number | null;
}

/** What the user has written on a timeline. */
export interface Label {
    title: string;
    note: string;
    colour: 'red' | 'yellow' | 'green' | 'blue' | 'grey' | null;
    /** Whether it stands first in lists. */
    pin: boolean;
    /** Whether the map leaves it out. */
    archived: boolean;
}

export interface ShownFamily {
    id: string;
    name: string;
    /** How many timelines exist, and how many of them have problems. */
    count: number;
    problems: number;
    /** When it was last continued, in milliseconds; zero if that is not known. */
    date: number;
    hasOpen: boolean;
}

export interface TimelinesModel {
    owner: Owner & { label: string };
    /** The id of the open one. */
    open: string;
    timelines: ShownTimeline[];
    families: ShownFamily[];
}

export interface TimelineProgress {
    what: 'headers' | 'books';
    done: number;
    total: number;
}

export interface TimelinesView {
    show(model: TimelinesModel | null): void;
    note(progress: TimelineProgress | null): void;
}

export interface TimelinesForUi {
    watch(view: TimelinesView): TimelineWatchForUi;
    readAll(): Promise<TimelinesModel>;
    open(name: string): Promise<void>;
    /** The new name; `null` if it keeps the old one. */
    rename(name: string, typed: string): Promise<string | null>;
    fateOf(name: string): Promise<BookFate>;
    delete(name: string, options?: { isForGood?: boolean }): Promise<DeletedTimeline>;
}

/** Where a deleted timeline is kept, and the lorebooks that went with it. */
export interface DeletedTimeline {
    token: string | null;
    books: string[];
}

/** What is done to several timelines, one after the other. */
export interface SeveralForUi {
    /** The lorebooks that would be deleted along with them. */
    booksOf(names: string[]): Promise<string[]>;
    /** Stops at the first one that cannot be deleted. */
    delete(names: string[], options: { isForGood: boolean }, note: NoteStep): Promise<SeveralDeleted>;
    /** Leaves out those that cannot be changed. */
    archive(names: string[], isArchived: boolean, note: NoteStep): Promise<SeveralArchived>;
}

/** How many are done, before each one. */
export type NoteStep = (done: number) => void;

export interface Refused {
    name: string;
    error: unknown;
}

export interface SeveralDeleted {
    done: string[];
    tokens: string[];
    books: string[];
    refused: Refused | null;
}

export interface SeveralArchived {
    done: string[];
    refused: Refused[];
}

/** A chat in SillyTavern's own list. */
export interface ListedChat {
    name: string;
    mark(sign: HTMLElement): void;
    moveUp(): void;
}

export interface LabelsForUi {
    /** Throws if the timeline is not open here and may be open elsewhere. */
    set(name: string, label: Label): Promise<void>;
    /** The labels of the selected character's or group's timelines, by name. */
    all(): Promise<Map<string, Label>>;
}

/** A message or an entry of a lorebook that was found; one that several timelines share is found once. */
export interface SearchHit {
    kind: 'message' | 'entry';
    /** The number of the message, or the uid of the entry. */
    place: number;
    /** The speaker, or the title of the entry. */
    name: string;
    /** Of an entry: its keys and its content. */
    text: string;
    /** The names of the timelines that have it; of an entry, with their lorebooks. Grows during the search. */
    books: Map<string, string>;
}

export interface SearchNews {
    /** So far; the list grows during the search. */
    hits: readonly SearchHit[];
    /** How many timelines were searched, of how many. */
    done: number;
    total: number;
    /** How many of them could not be read. */
    unread: number;
}

export interface SearchForUi {
    /** Searches the messages and lorebooks of timelines, given in the order to read them. */
    run(what: { owner: Owner; names: string[]; holds: (text: string) => boolean; signal: AbortSignal; onNews: (news: SearchNews) => void }): Promise<void>;
    /** What was read is kept until then. */
    forget(): void;
}

export interface TimelineWatchForUi {
    start(options?: { all?: boolean }): Promise<void>;
    stop(): void;
    refresh(): Promise<void>;
    showFamily(family: string): Promise<void>;
}

/** What will happen to a timeline's book if the timeline is deleted. */
export interface BookFate {
    fate: 'none' | 'trash' | 'kept';
    book: string | null;
    why: 'off' | 'not-ours' | 'used' | 'selected' | null;
    /** The chats that use it. */
    by: string[];
}

// Removing the journal.

/** All chats of all characters and groups; `left`: whose chats could not be listed. */
export interface AllChats {
    chats: ChatId[];
    left: Word[];
}

export interface StripReport {
    /** How many had a journal, and how many records there were. */
    chats: number;
    records: number;
    /** How many were looked at. */
    done: number;
    total: number;
    /** What was left as it is, and why. */
    left: Word[];
}

// Comparing and merging.

/** A timeline of the open chat's character or group: as it is now, or as it was at a message. */
export interface Moment {
    chat: string;
    message?: number | null;
}

export interface TimelineChoice {
    name: string;
    isOpen: boolean;
    isRelated: boolean;
}

/** A piece of a text: in both versions, or only in one. */
export interface Piece {
    is: 'same' | 'added' | 'removed' | 'other';
    text: string;
}

export type Words = (before: string, after: string) => Piece[];
export type Side = 'left' | 'right';

/** A value that differs; `by` tells which side changed it. */
export interface Difference {
    name: string;
    by: Side | 'both' | 'unknown';
    base?: unknown;
    left?: unknown;
    right?: unknown;
}

export interface SideOfEntry {
    did: ChangeKind | 'nothing' | 'unknown';
    entry?: ST.Entry | null;
}

export interface EntryDifference {
    key: string;
    uid: number | null;
    internal: boolean;
    title: string;
    left: SideOfEntry;
    right: SideOfEntry;
    fields: Difference[];
}

/** A moment as it is displayed. */
export interface ShownMoment {
    chat: string;
    message: number | null;
    isOpen: boolean;
    book: string | null;
    hasBook: boolean;
    part: Part | null;
    /** The last message. */
    last: number;
}

/** What both sides started from. */
export interface Beginning {
    known: boolean;
    how: string | null;
    message: number | null;
    /** Where the two diverge. */
    parting: number | null;
    chat: string | null;
}

export interface ComparedModel {
    left: ShownMoment;
    right: ShownMoment;
    isOneChat: boolean;
    beginning: Beginning;
    entries: EntryDifference[];
    book: Difference[];
    recap: Difference[];
    variables: Difference[];
    other: Difference[];
    words: Words;
    /** A message of one side. */
    spokenAt: (side: Side, message: number) => Spoken | null;
}

/** Entries by their keys in the source book: whole, or only some of their fields. */
export type WantedEntries = Record<string, true | string[]>;

export interface MergeRequest {
    from: Moment;
    /** The name of the timeline to change, in its current state. */
    into: string;
    /** `null`: everything that was changed there. */
    only?: WantedEntries | null;
    /** Entries by their uids, instead of `only`. */
    uids?: (number | string)[];
    settle?: Settled;
    /** How to settle all other conflicts. */
    otherwise?: 'ours' | 'theirs' | null;
}

/** One side of a conflict, or a text that was written by hand. */
export type Settling = 'ours' | 'theirs' | { value: string } | null;
/** How conflicts are settled: by key, and by field unless it is about the whole entry. */
export type Settled = Record<string, Settling | Record<string, Settling>>;

export interface Conflict {
    /** The key of the entry; `null` for the book's own fields. */
    key: string | null;
    title?: string;
    field?: string | null;
    kind: 'field' | 'removed-by-ours' | 'removed-by-theirs';
    /** Before both. */
    base?: unknown;
    ours?: unknown;
    theirs?: unknown;
    /** The word diff from theirs to ours. */
    words?: Piece[] | null;
    settled?: 'ours' | 'theirs' | 'value' | null;
}

export interface MergeStep {
    what: 'add' | 'change' | 'remove';
    key: string;
    to: string;
    title?: string;
    internal?: boolean;
    fields: string[];
    before?: ST.Entry | null;
    after?: ST.Entry | null;
    /** Whether it settles a conflict. */
    chosen?: boolean;
}

export interface MergePlan {
    from: ShownMoment;
    into: ShownMoment;
    beginning: Beginning;
    /** Whether entries are brought over that were not changed there. */
    isByHand?: boolean;
    steps: MergeStep[];
    conflicts: Conflict[];
    kept: { key: string; field?: string | null }[];
    twins: { title: string; key: string; to: string }[];
    changes: boolean;
    words: Words;
}

export interface Brought {
    isStale?: false;
    from: string;
    into: string;
    book: string | null;
    added: string[];
    changed: string[];
    removed: string[];
    undo: string | null;
}

/** The plan that the user has seen is no longer the right one. */
export interface StalePlan {
    isStale: true;
    plan: MergePlan;
}
