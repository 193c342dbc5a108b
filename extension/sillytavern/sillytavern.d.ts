// What Forklore uses of SillyTavern 1.19, and no more. e2e/scenarios/declarations.test.mjs compares it with the real page:
// everything has to exist there with the declared kind, and functions have to mention their options, which are parameters
// of types without a name or with one that ends in `Options` or `Props`. `@since` names the first version that has a
// member, where Forklore also runs in older ones. What other extensions add is declared in types.d.ts.

declare namespace ST {
    type Timestamp = string | number;

    interface Character {
        name: string;
        avatar: string;
        /** In bytes, the size of all its chats. */
        chat_size?: number;
        data?: { extensions?: { world?: string } };
    }

    interface Group {
        id: string;
        name: string;
        chat_id: string;
        chats?: string[];
        /** Avatars. */
        members?: string[];
        chat_size?: number;
    }

    /** A line of a chat file after the first. Other extensions add to it. */
    interface Message {
        name?: string;
        mes?: string;
        send_date?: Timestamp;
        extra?: MessageExtra;
        swipe_info?: { extra?: MessageExtra }[];
    }

    interface MessageExtra {
        [key: string]: unknown;
    }

    interface Metadata {
        /** The name of the bound lorebook. */
        world_info?: string;
        /** Identifies the file: a save with another one is refused. */
        integrity?: string;
        /** The chat that this one was forked from. */
        main_chat?: string;
        [key: string]: unknown;
    }

    /** The first line of a chat file. */
    interface Header {
        chat_metadata?: Metadata;
    }

    interface Line extends Header, Message {}

    interface Entry {
        uid?: number;
        comment?: string;
        content?: string;
        key?: string[];
        disable?: boolean;
        [field: string]: unknown;
    }

    interface Book {
        entries: Record<string, Entry>;
        [field: string]: unknown;
    }

    /** An entry that was loaded for a prompt, with the name of its book. */
    interface LoadedEntry extends Entry {
        world?: string;
    }

    /** What is loaded for a prompt. The lists may be changed, but not replaced. */
    interface LoadedLore {
        globalLore: LoadedEntry[];
        characterLore: LoadedEntry[];
        chatLore: LoadedEntry[];
        personaLore: LoadedEntry[];
    }

    interface ExtensionSettings {
        disabledExtensions: string[];
        [extension: string]: unknown;
    }

    interface PowerUser {
        personas: Record<string, string>;
        persona_descriptions: Record<string, { lorebook?: string }>;
        persona_description_lorebook: string;
    }

    interface WorldInfo {
        charLore?: { name: string; extraBooks?: string[] }[];
    }

    /** A map that clones what it returns. */
    interface BookCache extends Map<string, Book> {
        get(name: string): Book | undefined;
        set(name: string, book: Book): this;
    }

    interface EventTypes {
        APP_READY: string;
        CHAT_CHANGED: string;
        MESSAGE_SENT: string;
        MESSAGE_RECEIVED: string;
        MESSAGE_DELETED: string;
        MESSAGE_SWIPED: string;
        GENERATION_ENDED: string;
        STREAM_TOKEN_RECEIVED: string;
        CHARACTER_EDITED: string;
        WORLDINFO_SETTINGS_UPDATED: string;
        WORLDINFO_ENTRIES_LOADED: string;
        /** @since 1.17 */
        PERSONA_CHANGED?: string;
        /** @since 1.18 */
        ITEMIZED_PROMPTS_SAVED?: string;
    }

    interface EventSource {
        on(event: string, listener: (value: unknown) => void): void;
        once(event: string, listener: (value: unknown) => void): void;
        emit(event: string, value: unknown): Promise<void>;
    }

    interface User {
        handle: string;
    }

    interface Moment {
        isValid(): boolean;
        valueOf(): number;
    }

    // The answers of the server, by path.

    interface ListedChat {
        file_name: string;
        /** The number of messages. */
        chat_items?: number;
        /** The last message, and when it was sent. */
        mes?: string;
        last_mes?: Timestamp;
        chat_metadata?: Metadata;
        /** Only in the list of recent chats. */
        group?: string;
        avatar?: string;
    }

    interface ListedBook {
        file_id: string;
        extensions: Record<string, unknown>;
    }

    interface Answers {
        '/api/characters/chats': ListedChat[] | { error: boolean };
        '/api/chats/recent': ListedChat[];
        '/api/chats/get': Line[];
        '/api/chats/group/get': Line[];
        '/api/settings/get': { world_names: string[] };
        '/api/worldinfo/list': ListedBook[];
        '/api/worldinfo/get': Book;
        '/api/files/upload': { path: string };
        '/api/files/verify': Record<string, boolean>;
        '/api/chats/export': { result: string };
        '/api/data-maid/report': { token: string; report: { files: { name: string; size?: number }[] } };
    }

    // The screen.

    interface Popup {
        dlg: HTMLDialogElement;
        result?: number | null;
        show(): Promise<string | number | boolean | null>;
        completeCancelled(): Promise<unknown>;
    }

    interface PopupOptions {
        wide?: boolean;
        large?: boolean;
        okButton?: string | boolean;
        cancelButton?: string | boolean;
        placeholder?: string;
        allowVerticalScrolling?: boolean;
        leftAlign?: boolean;
        defaultResult?: number | null;
        customButtons?: { text: string; icon?: string; tooltip?: string; result: number }[];
        onClosing?: (popup: Popup) => boolean;
    }

    interface SlashCommand {
        callback?: ((named: Record<string, unknown>, unnamed: unknown) => unknown) | null;
    }

    interface SlashCommandProps {
        name: string;
        returns: string;
        helpString: string;
        namedArgumentList: unknown[];
        unnamedArgumentList: unknown[];
        callback: (named: Record<string, unknown>, unnamed: unknown) => Promise<string>;
    }

    interface ArgumentProps {
        description: string;
        typeList: string[];
        isRequired: boolean;
        defaultValue?: string;
        enumList: string[];
        forceEnum: boolean;
        enumProvider: (() => unknown[]) | null;
    }

    interface NamedArgumentProps extends ArgumentProps {
        name: string;
    }

    interface Context {
        chat: Message[];
        characters: Character[];
        groups: Group[];
        groupId: string | null;
        translate(text: string, key?: string): string;
        openGroupChat(group: string, chat: string): Promise<void>;
        openCharacterChat(chat: string): Promise<void>;
        selectCharacterById(index: number): Promise<void>;
        Popup: new (content: HTMLElement, type: number, value: string, options: PopupOptions) => Popup;
        POPUP_TYPE: { TEXT: number; INPUT: number };
        POPUP_RESULT: { AFFIRMATIVE: number; NEGATIVE: number };
        ARGUMENT_TYPE: { STRING: string; NUMBER: string; BOOLEAN: string };
        SlashCommandParser: { commands: Record<string, SlashCommand>; addCommandObject(command: SlashCommand): void };
        SlashCommand: { fromProps(props: SlashCommandProps): SlashCommand };
        SlashCommandArgument: { fromProps(props: ArgumentProps): unknown };
        SlashCommandNamedArgument: { fromProps(props: NamedArgumentProps): unknown };
        SlashCommandEnumValue: new (value: string, description: string, type: string, icon: string) => unknown;
    }

    type ShowToast = (content: Node, title: Node | undefined, options: Record<string, unknown>) => JQuery | undefined;

    interface Toastr {
        success: ShowToast;
        info: ShowToast;
        warning: ShowToast;
        error: ShowToast;
        clear(toast: JQuery | undefined, options: Record<string, boolean>): void;
    }

    interface JQuery {
        on(event: string, listener: () => void): void;
        /** `result` is what a listener before this one has returned; if several have, the last one. */
        on(event: string, selector: string, listener: (event: { result?: unknown }) => void): JQuery;
        off(event: string, selector: string, listener: (event: { result?: unknown }) => void): void;
        data(name: string): unknown;
        find(selector: string): JQuery;
        attr(name: string, value: string | null): void;
        pagination(command: 'getCurrentPageNum' | 'getTotalPage'): number;
        pagination(command: 'go', page: number): void;
    }

    /** A database in this browser. */
    interface Store {
        getItem(key: string): Promise<unknown>;
        setItem(key: string, value: unknown): Promise<unknown>;
        clear(): Promise<void>;
    }
}

declare var SillyTavern: {
    getContext(): ST.Context;
    libs: { localforage: { createInstance(options: Record<string, string>): ST.Store } };
};
declare var toastr: ST.Toastr;
declare var jQuery: (selector: string | Document) => ST.JQuery;

declare module '*/script.js' {
    export const characters: ST.Character[];
    export const chat: ST.Message[];
    export const chat_metadata: ST.Metadata;
    export const eventSource: ST.EventSource;
    export const event_types: ST.EventTypes;
    export const isChatSaving: boolean;
    /** An index into `characters`. */
    export const this_chid: string | undefined;
    export function deleteCharacterChatByName(characterId: string, chat: string): Promise<void>;
    export function getCurrentChatId(): string | undefined;
    export function getRequestHeaders(): Record<string, string>;
    export function isGenerating(): boolean;
    export function openCharacterChat(chat: string): Promise<void>;
    export function renameGroupOrCharacterChat(what: {
        characterId?: string;
        groupId?: string;
        oldFileName: string;
        newFileName: string;
        loader: boolean;
    }): Promise<void>;
    export function saveChat(): Promise<void>;
    export function saveSettingsDebounced(): void;
}

declare module '*/scripts/bookmarks.js' {
    export function branchChat(message: number, options?: { swipeId?: number | null }): Promise<string | undefined>;
    export function createNewBookmark(message: number, options?: { forceName?: string | null }): Promise<string | null>;
}

declare module '*/scripts/extensions.js' {
    export const extension_settings: ST.ExtensionSettings;
    export const extensionNames: string[];
}

declare module '*/scripts/group-chats.js' {
    export const groups: ST.Group[];
    export const selected_group: string | null;
    export function deleteGroupChatByName(group: string, chat: string): Promise<void>;
    export function editGroup(group: string, isAtOnce: boolean, isReloading: boolean): Promise<void>;
    export function openGroupById(group: string): Promise<unknown>;
    export function openGroupChat(group: string, chat: string): Promise<void>;
}

declare module '*/scripts/i18n.js' {
    export function getCurrentLocale(): string;
}

declare module '*/scripts/power-user.js' {
    export const power_user: ST.PowerUser;
}

declare module '*/scripts/user.js' {
    /** `null` if SillyTavern has only one user. */
    export const currentUser: ST.User | null;
}

declare module '*/scripts/utils.js' {
    export function timestampToMoment(timestamp: ST.Timestamp): ST.Moment;
    export function uuidv4(): string;
    export function waitUntilCondition(condition: () => boolean, timeout: number, interval: number): Promise<void>;
}

declare module '*/scripts/world-info.js' {
    export const selected_world_info: string[];
    export const world_info: ST.WorldInfo;
    export const world_names: string[] | undefined;
    export const worldInfoCache: ST.BookCache;
    export function reloadEditor(name: string, loadIfNotSelected?: boolean): void;
    export function loadWorldInfo(name: string): Promise<unknown>;
    export function updateWorldInfoList(): Promise<void>;
}
