CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.analyses (
    series bigint NOT NULL,
    metric character varying(8) NOT NULL,
    made double precision NOT NULL,
    document text NOT NULL
);
CREATE TABLE public.audit (
    id bigint NOT NULL,
    at double precision NOT NULL,
    who character varying(200) NOT NULL,
    client character varying(64) NOT NULL,
    action character varying(40) NOT NULL,
    project character varying(64),
    what text NOT NULL,
    outcome text NOT NULL
);
CREATE SEQUENCE public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;
CREATE TABLE public.campaigns (
    project bigint NOT NULL,
    name character varying(200) NOT NULL,
    told double precision NOT NULL,
    state text NOT NULL
);
CREATE TABLE public.changes (
    id bigint NOT NULL,
    project bigint NOT NULL,
    series bigint NOT NULL,
    metric character varying(8) NOT NULL,
    at_run character varying(200) NOT NULL,
    before_run character varying(200) NOT NULL,
    begun double precision NOT NULL,
    verdict character varying(16) NOT NULL,
    before_value double precision,
    after_value double precision,
    size double precision,
    found double precision NOT NULL,
    notified double precision,
    change text NOT NULL
);
CREATE SEQUENCE public.changes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.changes_id_seq OWNED BY public.changes.id;
CREATE TABLE public.deletions (
    project bigint NOT NULL,
    run_id character varying(200) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    at double precision NOT NULL,
    by character varying(200) NOT NULL,
    why text NOT NULL
);
CREATE TABLE public.deliveries (
    id bigint NOT NULL,
    hook character varying(200) NOT NULL,
    body text NOT NULL,
    made double precision NOT NULL,
    tries integer NOT NULL,
    next double precision NOT NULL,
    failed text
);
CREATE SEQUENCE public.deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.deliveries_id_seq OWNED BY public.deliveries.id;
CREATE TABLE public.points (
    series bigint NOT NULL,
    run bigint NOT NULL,
    place integer NOT NULL,
    status character varying(12) NOT NULL,
    n bigint NOT NULL,
    p50 double precision,
    p99 double precision,
    p999 double precision,
    max double precision,
    missed bigint
);
CREATE TABLE public.projects (
    id bigint NOT NULL,
    name character varying(64) NOT NULL
);
CREATE SEQUENCE public.projects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.projects_id_seq OWNED BY public.projects.id;
CREATE TABLE public.runs (
    id bigint NOT NULL,
    project bigint NOT NULL,
    run_id character varying(200) NOT NULL,
    fingerprint character varying(64) NOT NULL,
    created character varying(64) NOT NULL,
    begun double precision NOT NULL,
    arrived double precision NOT NULL,
    target character varying(400) NOT NULL,
    series_target character varying(400) NOT NULL,
    kernel character varying(400),
    suite character varying(200),
    label character varying(400),
    campaign character varying(200),
    status character varying(20) NOT NULL,
    ok integer NOT NULL,
    results integer NOT NULL,
    grade character varying(8) NOT NULL,
    verdict text NOT NULL
);
CREATE SEQUENCE public.runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;
CREATE TABLE public.series (
    id bigint NOT NULL,
    project bigint NOT NULL,
    key character varying(16) NOT NULL,
    target character varying(400) NOT NULL,
    identity text NOT NULL,
    bench character varying(100) NOT NULL,
    params text NOT NULL,
    series character varying(200) NOT NULL,
    load character varying(400) NOT NULL,
    unit character varying(20) NOT NULL,
    exact boolean NOT NULL,
    label text NOT NULL
);
CREATE SEQUENCE public.series_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.series_id_seq OWNED BY public.series.id;
CREATE TABLE public.tags (
    project bigint NOT NULL,
    kind character varying(8) NOT NULL,
    value character varying(400) NOT NULL COLLATE pg_catalog."C",
    run bigint NOT NULL
);
CREATE TABLE public.targets (
    project bigint NOT NULL,
    name character varying(400) NOT NULL,
    runs integer NOT NULL,
    last_run bigint NOT NULL,
    last_begun double precision NOT NULL,
    usual_gap double precision,
    dirty double precision,
    claimed double precision
);
CREATE TABLE public.tokens (
    id character varying(16) NOT NULL,
    hash character varying(64) NOT NULL,
    name character varying(200) NOT NULL,
    project character varying(64),
    scope character varying(8) NOT NULL,
    created double precision NOT NULL,
    expires double precision,
    used double precision,
    revoked double precision
);
ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);
ALTER TABLE ONLY public.changes ALTER COLUMN id SET DEFAULT nextval('public.changes_id_seq'::regclass);
ALTER TABLE ONLY public.deliveries ALTER COLUMN id SET DEFAULT nextval('public.deliveries_id_seq'::regclass);
ALTER TABLE ONLY public.projects ALTER COLUMN id SET DEFAULT nextval('public.projects_id_seq'::regclass);
ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);
ALTER TABLE ONLY public.series ALTER COLUMN id SET DEFAULT nextval('public.series_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0001');
INSERT INTO public.analyses VALUES (4, 'p50', 1795797072.9817855, '{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}}],"segments":[{"runs":5,"n":833335,"value":50.0,"off":0.01},{"runs":3,"n":500001,"value":75.0,"off":0.006666666666666667}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (4, 'p99', 1795797072.9817855, '{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}}],"segments":[{"runs":5,"n":833335,"value":50.0,"off":0.01},{"runs":3,"n":500001,"value":75.0,"off":0.006666666666666667}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (5, 'p50', 1795797073.0068905, '{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}}],"segments":[{"runs":5,"n":89290,"value":550.0,"off":0.00390625},{"runs":3,"n":53574,"value":825.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (5, 'p99', 1795797073.0068905, '{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}}],"segments":[{"runs":5,"n":89290,"value":550.0,"off":0.00390625},{"runs":3,"n":53574,"value":825.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (6, 'p50', 1795797073.0171142, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}}],"segments":[{"runs":5,"n":100,"value":900.0,"off":0.00390625},{"runs":3,"n":60,"value":1350.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (6, 'p99', 1795797073.0171142, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":0,"without":{"n is too small for p99":8},"places":[],"segments":[],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (6, 'missed', 1795797073.0171142, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"missed","unit":"%","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}}],"segments":[{"runs":8,"n":160,"value":0.0,"off":null}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (1, 'p50', 1795797073.082703, '{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}}],"segments":[{"runs":1,"n":166667,"value":50.0,"off":0.01}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (1, 'p99', 1795797073.082703, '{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}}],"segments":[{"runs":1,"n":166667,"value":50.0,"off":0.01}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (2, 'p50', 1795797073.0977902, '{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}}],"segments":[{"runs":1,"n":17858,"value":550.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (2, 'p99', 1795797073.0977902, '{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}}],"segments":[{"runs":1,"n":17858,"value":550.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (3, 'p50', 1795797073.1108167, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}}],"segments":[{"runs":1,"n":20,"value":900.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (3, 'p99', 1795797073.1108167, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":0,"without":{"n is too small for p99":1},"places":[],"segments":[],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.analyses VALUES (3, 'missed', 1795797073.1108167, '{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"missed","unit":"%","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}}],"segments":[{"runs":1,"n":20,"value":0.0,"off":null}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO public.audit VALUES (1, 1795797073.147467, 'root', 'command line', 'token new', 'lab', 'ci', 'done');
INSERT INTO public.campaigns VALUES (1, 'night', 1795797073.1496992, '{"schema":"rtstone.campaign/1","name":"night","title":"Night","jobs":{"planned":2,"running":0,"done":1,"failed":0,"unsupported":0},"left_s":null,"cells":[],"absent":{},"earlier":0}');
INSERT INTO public.changes VALUES (1, 2, 4, 'p50', '20261101-5', '20261101-4', 1793923200, 'worse', 50, 75, 1.4999999999999998, 1795797072.9817855, 7, '{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO public.changes VALUES (2, 2, 4, 'p99', '20261101-5', '20261101-4', 1793923200, 'worse', 50, 75, 1.4999999999999998, 1795797072.9817855, 7, '{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO public.changes VALUES (3, 2, 5, 'p50', '20261101-5', '20261101-4', 1793923200, 'worse', 550, 825, 1.5000000000000004, 1795797073.0068905, 7, '{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO public.changes VALUES (4, 2, 5, 'p99', '20261101-5', '20261101-4', 1793923200, 'worse', 550, 825, 1.5000000000000004, 1795797073.0068905, 7, '{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO public.changes VALUES (5, 2, 6, 'p50', '20261101-5', '20261101-4', 1793923200, 'worse', 900, 1350, 1.5000000000000004, 1795797073.0171142, 7, '{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO public.deletions VALUES (1, '20261101-y', 'd0bae8191138bba4c774dd7dcd86f860045c0240ea44ed89911fd07b7df60b63', 1795797072.8784318, 'ann', 'wrong board');
INSERT INTO public.deliveries VALUES (1, 'chat', '{"event": "worse"}', 1795797073.1601233, 3, 1795797153.1601236, 'it answers with status 500');
INSERT INTO public.points VALUES (1, 1, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (2, 1, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (3, 1, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 3, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 3, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (6, 3, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 4, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 4, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (6, 4, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 5, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 5, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (6, 5, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 6, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 6, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (6, 6, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 7, 0, 'ok', 166667, 50, 50, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 7, 1, 'ok', 17858, 550, 550, 550, 550, NULL);
INSERT INTO public.points VALUES (6, 7, 2, 'ok', 20, 900, NULL, NULL, 900, 0);
INSERT INTO public.points VALUES (4, 8, 0, 'ok', 166667, 75, 75, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 8, 1, 'ok', 17858, 825, 825, 825, 825, NULL);
INSERT INTO public.points VALUES (6, 8, 2, 'ok', 20, 1350, NULL, NULL, 1350, 0);
INSERT INTO public.points VALUES (4, 9, 0, 'ok', 166667, 75, 75, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 9, 1, 'ok', 17858, 825, 825, 825, 825, NULL);
INSERT INTO public.points VALUES (6, 9, 2, 'ok', 20, 1350, NULL, NULL, 1350, 0);
INSERT INTO public.points VALUES (4, 10, 0, 'ok', 166667, 75, 75, NULL, NULL, NULL);
INSERT INTO public.points VALUES (5, 10, 1, 'ok', 17858, 825, 825, 825, 825, NULL);
INSERT INTO public.points VALUES (6, 10, 2, 'ok', 20, 1350, NULL, NULL, 1350, 0);
INSERT INTO public.projects VALUES (1, 'lab');
INSERT INTO public.projects VALUES (2, 'main');
INSERT INTO public.runs VALUES (1, 1, '20261101-x', '9552560275d3aa3b92e43c31642292ade40c96bd2fbb5e5d70aa43c682aa6737', '2026-11-01T00:00:00+00:00', 1793491200, 1795797072.562613, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (3, 2, '20261101-0', 'a46ec259b6d243b39671a86f733e0b567661cec0b3e7f35bc750794775ca436c', '2026-11-01T00:00:00+00:00', 1793491200, 1795797072.5501385, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (4, 2, '20261101-1', '9b5a89426924a30caa4f2e1c183488a45543c0cf67a6ec7d8832a900553c0087', '2026-11-02T00:00:00+00:00', 1793577600, 1795797072.5505776, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (5, 2, '20261101-2', 'f0d78448a53058ffd595b59b113cd8d288f47ddd3a17d2fd264bacd08b0bebb5', '2026-11-03T00:00:00+00:00', 1793664000, 1795797072.5510178, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (6, 2, '20261101-3', '47c7e5e5cff3e0cd4683f9be6bfb9a05872e38a41378626d438e5a49b3d782ec', '2026-11-04T00:00:00+00:00', 1793750400, 1795797072.5514274, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (7, 2, '20261101-4', '7653066694530a566732c656e1aa55c6ec98d1c9ca536bb47fb150a287450bc7', '2026-11-05T00:00:00+00:00', 1793836800, 1795797072.560402, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (8, 2, '20261101-5', 'b7aeaf56b5eb7763e8bfedc8dbc1bbffa9c27f00b7755193945be83459afe0c1', '2026-11-06T00:00:00+00:00', 1793923200, 1795797072.5609553, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (9, 2, '20261101-6', 'f99b8191e1a8bde230e5b19d67ea41b74a9cc703b6b052998287b5e5d2bbf691', '2026-11-07T00:00:00+00:00', 1794009600, 1795797072.561574, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.runs VALUES (10, 2, '20261101-7', '6e7380158bc8452dfbbf19a3e73b1802b85d08e8d17231dfd3223e6efd160776', '2026-11-08T00:00:00+00:00', 1794096000, 1795797072.5620203, 'sim', 'sim', 'Small RTOS', NULL, NULL, NULL, 'complete', 3, 3, 'good', 'Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO public.series VALUES (1, 1, '52f539d951925b0e', 'sim', '{"seed":"1"}', 'sched.yield', '{"batch":0,"cache":"warm","config":"bound"}', '', 'none', 'ns', true, '');
INSERT INTO public.series VALUES (2, 1, '7571929e2ba52e47', 'sim', '{"seed":"1"}', 'sem.post.higher', '{"config":"bound","entity":"thread","type":"unnamed"}', '', 'none', 'ns', true, '');
INSERT INTO public.series VALUES (3, 1, '666e44987041b10a', 'sim', '{"seed":"1"}', 'dk.periodic', '{"align":-1,"config":"bound","distance":0,"period":1000000,"policy":"fifo","runtime":0,"tasks":1}', '', 'none', 'ns', true, '');
INSERT INTO public.series VALUES (4, 2, '52f539d951925b0e', 'sim', '{"seed":"1"}', 'sched.yield', '{"batch":0,"cache":"warm","config":"bound"}', '', 'none', 'ns', true, '');
INSERT INTO public.series VALUES (5, 2, '7571929e2ba52e47', 'sim', '{"seed":"1"}', 'sem.post.higher', '{"config":"bound","entity":"thread","type":"unnamed"}', '', 'none', 'ns', true, '');
INSERT INTO public.series VALUES (6, 2, '666e44987041b10a', 'sim', '{"seed":"1"}', 'dk.periodic', '{"align":-1,"config":"bound","distance":0,"period":1000000,"policy":"fifo","runtime":0,"tasks":1}', '', 'none', 'ns', true, '');
INSERT INTO public.tags VALUES (1, 'bench', 'sched.yield', 1);
INSERT INTO public.tags VALUES (1, 'kernel', 'Small RTOS', 1);
INSERT INTO public.tags VALUES (1, 'target', 'sim', 1);
INSERT INTO public.tags VALUES (1, 'bench', 'dk.periodic', 1);
INSERT INTO public.tags VALUES (1, 'flag', 'batched', 1);
INSERT INTO public.tags VALUES (1, 'bench', 'sem.post.higher', 1);
INSERT INTO public.tags VALUES (1, 'load', 'none', 1);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 3);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 3);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 3);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 3);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 3);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 3);
INSERT INTO public.tags VALUES (2, 'load', 'none', 3);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 4);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 4);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 4);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 4);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 4);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 4);
INSERT INTO public.tags VALUES (2, 'load', 'none', 4);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 5);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 5);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 5);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 5);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 5);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 5);
INSERT INTO public.tags VALUES (2, 'load', 'none', 5);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 6);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 6);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 6);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 6);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 6);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 6);
INSERT INTO public.tags VALUES (2, 'load', 'none', 6);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 7);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 7);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 7);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 7);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 7);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 7);
INSERT INTO public.tags VALUES (2, 'load', 'none', 7);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 8);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 8);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 8);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 8);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 8);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 8);
INSERT INTO public.tags VALUES (2, 'load', 'none', 8);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 9);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 9);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 9);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 9);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 9);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 9);
INSERT INTO public.tags VALUES (2, 'load', 'none', 9);
INSERT INTO public.tags VALUES (2, 'bench', 'sched.yield', 10);
INSERT INTO public.tags VALUES (2, 'kernel', 'Small RTOS', 10);
INSERT INTO public.tags VALUES (2, 'target', 'sim', 10);
INSERT INTO public.tags VALUES (2, 'bench', 'dk.periodic', 10);
INSERT INTO public.tags VALUES (2, 'flag', 'batched', 10);
INSERT INTO public.tags VALUES (2, 'bench', 'sem.post.higher', 10);
INSERT INTO public.tags VALUES (2, 'load', 'none', 10);
INSERT INTO public.targets VALUES (2, 'sim', 8, 10, 1794096000, 86400, NULL, NULL);
INSERT INTO public.targets VALUES (1, 'sim', 1, 1, 1793491200, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES ('1f967d4b1190', 'c8c8df93e978becc394f6efde688aafdc2e984adcf1fb1e6fecc1393dba459ef', 'former', NULL, 'read', 1795797073.1278863, NULL, NULL, 1795797073.1366863);
INSERT INTO public.tokens VALUES ('94f4dbf94222', '362e99d3800edf67619803fcfc5489f51d4b3c99e2682b22ce3a3b42bff984fb', 'ci', 'lab', 'push', 1795797073.118626, NULL, 1795797073.1392305, NULL);
SELECT pg_catalog.setval('public.audit_id_seq', 1, true);
SELECT pg_catalog.setval('public.changes_id_seq', 5, true);
SELECT pg_catalog.setval('public.deliveries_id_seq', 1, true);
SELECT pg_catalog.setval('public.projects_id_seq', 2, true);
SELECT pg_catalog.setval('public.runs_id_seq', 10, true);
SELECT pg_catalog.setval('public.series_id_seq', 6, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.analyses
    ADD CONSTRAINT pk_analyses PRIMARY KEY (series, metric);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (id);
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT pk_campaigns PRIMARY KEY (project, name);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT pk_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.deletions
    ADD CONSTRAINT pk_deletions PRIMARY KEY (project, run_id);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT pk_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.points
    ADD CONSTRAINT pk_points PRIMARY KEY (series, run, place);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT pk_projects PRIMARY KEY (id);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT pk_series PRIMARY KEY (id);
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT pk_tags PRIMARY KEY (project, kind, value, run);
ALTER TABLE ONLY public.targets
    ADD CONSTRAINT pk_targets PRIMARY KEY (project, name);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT uq_changes_series_metric_at_run UNIQUE (series, metric, at_run);
ALTER TABLE ONLY public.projects
    ADD CONSTRAINT uq_projects_name UNIQUE (name);
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT uq_runs_project_run_id UNIQUE (project, run_id);
ALTER TABLE ONLY public.series
    ADD CONSTRAINT uq_series_project_key UNIQUE (project, key);
CREATE INDEX ix_audit_at ON public.audit USING btree (at);
CREATE INDEX ix_changes_project_verdict_begun ON public.changes USING btree (project, verdict, begun);
CREATE INDEX ix_deliveries_next ON public.deliveries USING btree (next);
CREATE INDEX ix_points_run ON public.points USING btree (run);
CREATE INDEX ix_runs_project_begun ON public.runs USING btree (project, begun);
CREATE INDEX ix_runs_project_campaign ON public.runs USING btree (project, campaign);
CREATE INDEX ix_runs_project_series_target_begun ON public.runs USING btree (project, series_target, begun);
CREATE INDEX ix_series_project_target_bench ON public.series USING btree (project, target, bench);
CREATE INDEX ix_tags_run ON public.tags USING btree (run);
ALTER TABLE ONLY public.analyses
    ADD CONSTRAINT fk_analyses_series FOREIGN KEY (series) REFERENCES public.series(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.campaigns
    ADD CONSTRAINT fk_campaigns_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT fk_changes_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT fk_changes_series FOREIGN KEY (series) REFERENCES public.series(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.deletions
    ADD CONSTRAINT fk_deletions_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.points
    ADD CONSTRAINT fk_points_run FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.points
    ADD CONSTRAINT fk_points_series FOREIGN KEY (series) REFERENCES public.series(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.series
    ADD CONSTRAINT fk_series_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT fk_tags_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.tags
    ADD CONSTRAINT fk_tags_run FOREIGN KEY (run) REFERENCES public.runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.targets
    ADD CONSTRAINT fk_targets_project FOREIGN KEY (project) REFERENCES public.projects(id) ON DELETE CASCADE;
