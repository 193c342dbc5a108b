// What extension/sillytavern/sillytavern.d.ts declares, in a form that can be compared with values in a page.

import path from 'node:path';
import ts from 'typescript';

import { checkout, isSince } from './places.mjs';

/**
 * A declared type. Members and elements are numbers of other shapes.
 *
 * @typedef {object} Shape
 * @property {string} kind 'string', 'number', 'boolean', 'undefined', 'null', 'anything', 'any of', 'array', 'object', 'function'
 * @property {number[]} [anyOf]
 * @property {number} [element] of an array
 * @property {number} [values] of an object with any keys
 * @property {string} [instanceOf] a class of the browser
 * @property {Array<{id: string, name: string, isOptional: boolean, shape: number}>} [members]
 * @property {number} [makes] what a class makes
 * @property {string[]} [options] members of a function's parameters, which its source has to mention
 */

/** The names of types that only occur as parameters. */
const OPTIONS = /(?:Options|Props)$/;

export class Declarations {
    constructor(file = path.join(checkout, 'extension/sillytavern/sillytavern.d.ts')) {
        const program = ts.createProgram([file], { lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'], types: [], strict: true });
        this.checker = program.getTypeChecker();
        this.file = program.getSourceFile(file);
        /** @type {Shape[]} */
        this.shapes = [];
        this.numbers = new Map();
        /** Every member that has to be found somewhere, as `Interface.member`. @type {Set<string>} */
        this.members = new Set();
        /** @type {Array<{module: string | null, name: string, shape: number}>} */
        this.values = [];
        /** @type {Record<string, number>} the shapes of interfaces by name */
        this.interfaces = {};
        this.file.statements.forEach((statement) => this.read(statement));
    }

    read(statement) {
        if (ts.isVariableStatement(statement)) {
            statement.declarationList.declarations.forEach(({ name }) => this.addValue(null, this.checker.getSymbolAtLocation(name)));
        } else if (ts.isStringLiteral(statement.name)) {
            const module = statement.name.text.replace('*', '');
            this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(statement.name)).forEach((symbol) => this.addValue(module, symbol));
        } else {
            const types = this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(statement.name));
            types.filter((symbol) => symbol.flags & ts.SymbolFlags.Interface).forEach((symbol) => {
                this.interfaces[symbol.name] = this.shapeOf(this.checker.getDeclaredTypeOfSymbol(symbol), symbol.name);
            });
        }
    }

    addValue(module, symbol) {
        this.values.push({ module, name: symbol.name, shape: this.shapeOf(this.checker.getTypeOfSymbol(symbol), symbol.name) });
    }

    /** The number of a type's shape. */
    shapeOf(type, where) {
        if (!this.numbers.has(type)) {
            this.numbers.set(type, this.shapes.length);
            const shape = { kind: 'anything' };
            this.shapes.push(shape);
            Object.assign(shape, this.describe(type, where));
        }
        return this.numbers.get(type);
    }

    /** @returns {Shape} */
    describe(type, where) {
        const simple = [
            [ts.TypeFlags.StringLike, 'string'], [ts.TypeFlags.NumberLike, 'number'], [ts.TypeFlags.BooleanLike, 'boolean'],
            [ts.TypeFlags.VoidLike, 'undefined'], [ts.TypeFlags.Null, 'null'], [ts.TypeFlags.Unknown, 'anything'],
        ].find(([flags]) => type.flags & flags);
        if (simple) {
            return { kind: simple[1] };
        }
        if (type.isUnion()) {
            return { kind: 'any of', anyOf: type.types.map((one) => this.shapeOf(one, where)) };
        }
        if (this.checker.isArrayType(type)) {
            return { kind: 'array', element: this.shapeOf(this.checker.getTypeArguments(type)[0], where) };
        }
        const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()];
        return signatures.length ? this.describeFunction(type, signatures, where) : this.describeObject(type, where);
    }

    describeFunction(type, signatures, where) {
        const [made] = type.getConstructSignatures();
        const options = signatures.flatMap(({ parameters }) => parameters).flatMap((parameter) => this.optionsOf(this.checker.getTypeOfSymbol(parameter)));
        return { kind: 'function', options, ...(made && { makes: this.shapeOf(made.getReturnType(), where) }) };
    }

    /** The names of the options in a parameter, also of those in their lists. */
    optionsOf(parameter) {
        const given = this.checker.getNonNullableType(parameter);
        const type = this.checker.isArrayType(given) ? this.checker.getTypeArguments(given)[0] : given;
        const isOptions = type.getSymbol()?.flags & ts.SymbolFlags.TypeLiteral || OPTIONS.test(type.getSymbol()?.name ?? '');
        return isOptions ? this.ownMembers(type).flatMap((member) => [member.name, ...this.optionsOf(this.checker.getTypeOfSymbol(member))]) : [];
    }

    describeObject(type, where) {
        const name = type.getSymbol()?.flags & ts.SymbolFlags.Interface ? type.symbol.name : where;
        const values = type.getStringIndexType();
        const members = this.ownMembers(type).map((member) => this.describeMember(member, name));
        const bases = [type, ...(type.isClassOrInterface() ? this.checker.getBaseTypes(type) : [])];
        const foreign = bases.find(({ symbol }) => symbol?.flags & ts.SymbolFlags.Interface && !this.isOurs(symbol));
        return { kind: 'object', members, ...(values && { values: this.shapeOf(values, name) }), ...(foreign && { instanceOf: foreign.symbol.name }) };
    }

    describeMember(member, owner) {
        const [declaration] = member.declarations;
        const inherited = ts.isInterfaceDeclaration(declaration.parent) ? declaration.parent.name.text : owner;
        const id = `${inherited}.${member.name}`;
        const since = ts.getJSDocTags(declaration).find(({ tagName }) => tagName.text === 'since')?.comment;
        const isOptional = Boolean(member.flags & ts.SymbolFlags.Optional);
        if ((!since || isSince(since)) && !OPTIONS.test(inherited.split('.')[0])) {
            this.members.add(id);
        }
        const shape = this.shapeOf(this.checker.getTypeOfSymbol(member), id);
        return { id, name: member.name, isOptional: since ? !isSince(since) : isOptional, shape };
    }

    /** The members that are declared in our file, not in the libraries. */
    ownMembers(type) {
        return type.flags & ts.TypeFlags.Object || type.isIntersection?.() ? this.checker.getPropertiesOfType(type).filter((member) => this.isOurs(member)) : [];
    }

    isOurs(symbol) {
        return Boolean(symbol.declarations?.some((declaration) => declaration.getSourceFile() === this.file));
    }
}

/**
 * Runs in the page: compares values with their shapes.
 *
 * @param {{shapes: Shape[], values: Declarations['values'], interfaces: Record<string, number>, answers: Array<{path: string, body: unknown}>}} declared
 * @returns {Promise<{errors: string[], seen: string[]}>} `seen` are the members that were found
 */
export async function compareWithPage({ shapes, values, interfaces, answers }) {
    const errors = [];
    const seen = new Set();
    const looked = shapes.map(() => new Set());
    const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

    const fits = (value, number) => {
        const { kind, anyOf, instanceOf } = shapes[number];
        if (kind === 'any of') {
            return anyOf.some((one) => fits(value, one));
        }
        const isInstance = !instanceOf || value instanceof globalThis[instanceOf];
        // A class is also an object, with its static members.
        return isInstance && (kind === 'anything' || kind === kindOf(value) || (kind === 'object' && typeof value === 'function'));
    };
    /** @param {unknown} [holder] the object or class that has the value */
    const look = (value, number, where, holder) => {
        const { kind, anyOf, members, element, values: inside, options, makes, instanceOf } = shapes[number];
        if (!fits(value, number)) {
            errors.push(`${where} is ${kindOf(value)}, not ${instanceOf ?? (anyOf ? anyOf.map((one) => shapes[one].kind).join(' or ') : kind)}`);
            return;
        }
        if (Object(value) === value && looked[number].has(value)) {
            return;
        }
        looked[number].add(value);
        if (kind === 'any of') {
            look(value, anyOf.find((one) => fits(value, one)), where, holder);
        } else if (kind === 'array') {
            value.forEach((one, at) => look(one, element, `${where}[${at}]`));
        } else if (kind === 'object') {
            lookAtMembers(value, members, inside, where);
        } else if (kind === 'function') {
            const source = `${value} ${typeof holder === 'function' ? holder : ''}`;
            options.filter((option) => !new RegExp(`\\b${option}\\b`).test(source)).forEach((option) => errors.push(`${where} does not mention ${option}`));
            const methods = makes === undefined ? [] : (shapes[makes].members ?? []).filter(({ shape }) => shapes[shape].kind === 'function');
            methods.forEach(({ name, shape }) => look(value.prototype[name], shape, `${where}.prototype.${name}`));
        }
    };
    const lookAtMembers = (value, members, inside, where) => {
        for (const { id, name, isOptional, shape } of members) {
            const isThere = name in value && value[name] !== undefined;
            if (isThere) {
                seen.add(id);
            }
            if (isThere || !isOptional) {
                look(value[name], shape, `${where}.${name}`, value);
            }
        }
        const names = new Set(members.map(({ name }) => name));
        const others = inside === undefined ? [] : Object.keys(value).filter((key) => !names.has(key));
        others.forEach((key) => look(value[key], inside, `${where}[${JSON.stringify(key)}]`));
    };

    for (const { module, name, shape } of values) {
        const holder = module === null ? globalThis : await import(module);
        if (!(name in holder)) {
            errors.push(`${module ?? 'the page'} has no ${name}`);
        } else {
            look(holder[name], shape, `${module ?? ''} ${name}`.trim());
        }
    }
    const context = SillyTavern.getContext();
    const popup = new context.Popup(document.createElement('div'), context.POPUP_TYPE.TEXT, '', {});
    const shown = popup.show();
    await popup.completeCancelled();
    await shown;
    const loadedLore = new Promise((resolve) => void context.eventSource.once(context.eventTypes.WORLDINFO_ENTRIES_LOADED, resolve));
    await (await import('/scripts/world-info.js')).getSortedEntries();
    const headers = (await import('/script.js')).getRequestHeaders();
    /** Values that functions return or events bring, and the user, whom SillyTavern only asks for if there are several. */
    const samples = {
        User: await (await fetch('/api/users/me', { headers })).json(),
        Context: context,
        Popup: popup,
        LoadedLore: await loadedLore,
        JQuery: jQuery('body'),
        Moment: (await import('/scripts/utils.js')).timestampToMoment('2024-01-02T03:04:05Z'),
        Store: SillyTavern.libs.localforage.createInstance({ name: 'Forklore', storeName: 'timelines' }),
    };
    for (const [name, value] of Object.entries(samples)) {
        look(value, interfaces[name], name);
    }
    for (const { path, body } of answers) {
        const member = shapes[interfaces.Answers].members.find(({ name }) => name === path);
        seen.add(`Answers.${path}`);
        look(body, member.shape, path);
    }
    return { errors, seen: [...seen] };
}
