BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE analyses (
	series INTEGER NOT NULL, 
	metric VARCHAR(8) NOT NULL, 
	made FLOAT NOT NULL, 
	document TEXT NOT NULL, 
	CONSTRAINT pk_analyses PRIMARY KEY (series, metric), 
	CONSTRAINT fk_analyses_series FOREIGN KEY(series) REFERENCES series (id) ON DELETE CASCADE
);
INSERT INTO "analyses" VALUES(4,'p50',1.79579706913030242914e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}}],"segments":[{"runs":5,"n":833335,"value":50.0,"off":0.01},{"runs":3,"n":500001,"value":75.0,"off":0.006666666666666667}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(4,'p99',1.79579706913030242914e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":166667,"value":75.0,"off":0.006666666666666667}}],"segments":[{"runs":5,"n":833335,"value":50.0,"off":0.01},{"runs":3,"n":500001,"value":75.0,"off":0.006666666666666667}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(5,'p50',1.79579706915114426608e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}}],"segments":[{"runs":5,"n":89290,"value":550.0,"off":0.00390625},{"runs":3,"n":53574,"value":825.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(5,'p99',1.79579706915114426608e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":17858,"value":825.0,"off":0.00390625}}],"segments":[{"runs":5,"n":89290,"value":550.0,"off":0.00390625},{"runs":3,"n":53574,"value":825.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(6,'p50',1.79579706916335320471e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":20,"value":1350.0,"off":0.00390625}}],"segments":[{"runs":5,"n":100,"value":900.0,"off":0.00390625},{"runs":3,"n":60,"value":1350.0,"off":0.00390625}],"changes":[{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(6,'p99',1.79579706916335320471e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":0,"without":{"n is too small for p99":8},"places":[],"segments":[],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(6,'missed',1.79579706916335320471e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"missed","unit":"%","exact":true,"runs":8,"without":{},"places":[{"label":"20261101-0","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-1","created":"2026-11-02T00:00:00+00:00","first":1,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-2","created":"2026-11-03T00:00:00+00:00","first":2,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-3","created":"2026-11-04T00:00:00+00:00","first":3,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-4","created":"2026-11-05T00:00:00+00:00","first":4,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-5","created":"2026-11-06T00:00:00+00:00","first":5,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-6","created":"2026-11-07T00:00:00+00:00","first":6,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}},{"label":"20261101-7","created":"2026-11-08T00:00:00+00:00","first":7,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}}],"segments":[{"runs":8,"n":160,"value":0.0,"off":null}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(1,'p50',1.79579706926739335057e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}}],"segments":[{"runs":1,"n":166667,"value":50.0,"off":0.01}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(1,'p99',1.79579706926739335057e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sched.yield","params":{"config":"bound","batch":0,"cache":"warm"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":166667,"value":50.0,"off":0.01}}],"segments":[{"runs":1,"n":166667,"value":50.0,"off":0.01}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(2,'p50',1.79579706927894735329e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}}],"segments":[{"runs":1,"n":17858,"value":550.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(2,'p99',1.79579706927894735329e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"sem.post.higher","params":{"type":"unnamed","entity":"thread","config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":17858,"value":550.0,"off":0.00390625}}],"segments":[{"runs":1,"n":17858,"value":550.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(3,'p50',1.79579706928584861757e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p50","unit":"ns","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":900.0,"off":0.00390625}}],"segments":[{"runs":1,"n":20,"value":900.0,"off":0.00390625}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(3,'p99',1.79579706928584861757e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"p99","unit":"ns","exact":true,"runs":0,"without":{"n is too small for p99":1},"places":[],"segments":[],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
INSERT INTO "analyses" VALUES(3,'missed',1.79579706928584861757e+09,'{"target":"sim","identity":{"seed":"1"},"bench":"dk.periodic","params":{"period":1000000,"distance":0,"align":-1,"policy":"fifo","runtime":0,"tasks":1,"config":"bound"},"label":"","series":"","load":"none","metric":"missed","unit":"%","exact":true,"runs":1,"without":{},"places":[{"label":"20261101-x","created":"2026-11-01T00:00:00+00:00","first":0,"name":null,"pooled":{"runs":1,"n":20,"value":0.0,"off":null}}],"segments":[{"runs":1,"n":20,"value":0.0,"off":null}],"changes":[],"doubts":[],"corrected":false,"least":2,"correlated":null}');
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	who VARCHAR(200) NOT NULL, 
	client VARCHAR(64) NOT NULL, 
	action VARCHAR(40) NOT NULL, 
	project VARCHAR(64), 
	what TEXT NOT NULL, 
	outcome TEXT NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,1.7957970694985024929e+09,'root','command line','token new','lab','ci','done');
CREATE TABLE campaigns (
	project INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	told FLOAT NOT NULL, 
	state TEXT NOT NULL, 
	CONSTRAINT pk_campaigns PRIMARY KEY (project, name), 
	CONSTRAINT fk_campaigns_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "campaigns" VALUES(1,'night',1.79579706951998567584e+09,'{"schema":"rtstone.campaign/1","name":"night","title":"Night","jobs":{"planned":2,"running":0,"done":1,"failed":0,"unsupported":0},"left_s":null,"cells":[],"absent":{},"earlier":0}');
CREATE TABLE changes (
	id INTEGER NOT NULL, 
	project INTEGER NOT NULL, 
	series INTEGER NOT NULL, 
	metric VARCHAR(8) NOT NULL, 
	at_run VARCHAR(200) NOT NULL, 
	before_run VARCHAR(200) NOT NULL, 
	begun FLOAT NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	before_value FLOAT, 
	after_value FLOAT, 
	size FLOAT, 
	found FLOAT NOT NULL, 
	notified FLOAT, 
	change TEXT NOT NULL, 
	CONSTRAINT pk_changes PRIMARY KEY (id), 
	CONSTRAINT fk_changes_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE, 
	CONSTRAINT fk_changes_series FOREIGN KEY(series) REFERENCES series (id) ON DELETE CASCADE, 
	CONSTRAINT uq_changes_series_metric_at_run UNIQUE (series, metric, at_run)
);
INSERT INTO "changes" VALUES(1,2,4,'p50','20261101-5','20261101-4',1793923200.0,'worse',50.0,75.0,1.49999999999999977795e+00,1.79579706913030242914e+09,7.0,'{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO "changes" VALUES(2,2,4,'p99','20261101-5','20261101-4',1793923200.0,'worse',50.0,75.0,1.49999999999999977795e+00,1.79579706913030242914e+09,7.0,'{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.4999999999999998,"ci95":[1.4999999999999998,1.4999999999999998],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO "changes" VALUES(3,2,5,'p50','20261101-5','20261101-4',1793923200.0,'worse',550.0,825.0,1.50000000000000044408e+00,1.79579706915114426608e+09,7.0,'{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO "changes" VALUES(4,2,5,'p99','20261101-5','20261101-4',1793923200.0,'worse',550.0,825.0,1.50000000000000044408e+00,1.79579706915114426608e+09,7.0,'{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"tail","statistic":"p99","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
INSERT INTO "changes" VALUES(5,2,6,'p50','20261101-5','20261101-4',1793923200.0,'worse',900.0,1350.0,1.50000000000000044408e+00,1.79579706916335320471e+09,7.0,'{"at":5,"before":"20261101-4","after":"20261101-5","created":"2026-11-06T00:00:00+00:00","p":null,"effect":{"part":"median","statistic":"p50","column":"the runs after it","against":null,"ratio":1.5000000000000004,"ci95":[1.5000000000000004,1.5000000000000004],"difference":null,"difference_ci95":null,"floor":0.0,"verdict":"worse","within":null,"missing":null,"reason":null,"basis":"exact","runs":2,"values":null},"differences":[]}');
CREATE TABLE deletions (
	project INTEGER NOT NULL, 
	run_id VARCHAR(200) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	at FLOAT NOT NULL, 
	"by" VARCHAR(200) NOT NULL, 
	why TEXT NOT NULL, 
	CONSTRAINT pk_deletions PRIMARY KEY (project, run_id), 
	CONSTRAINT fk_deletions_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "deletions" VALUES(1,'20261101-y','d0bae8191138bba4c774dd7dcd86f860045c0240ea44ed89911fd07b7df60b63',1.79579706866447877887e+09,'ann','wrong board');
CREATE TABLE deliveries (
	id INTEGER NOT NULL, 
	hook VARCHAR(200) NOT NULL, 
	body TEXT NOT NULL, 
	made FLOAT NOT NULL, 
	tries INTEGER NOT NULL, 
	next FLOAT NOT NULL, 
	failed TEXT, 
	CONSTRAINT pk_deliveries PRIMARY KEY (id)
);
INSERT INTO "deliveries" VALUES(1,'chat','{"event": "worse"}',1.79579706954316473e+09,3,1.79579714954316520692e+09,'it answers with status 500');
CREATE TABLE points (
	series INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	status VARCHAR(12) NOT NULL, 
	n BIGINT NOT NULL, 
	p50 FLOAT, 
	p99 FLOAT, 
	p999 FLOAT, 
	max FLOAT, 
	missed BIGINT, 
	CONSTRAINT pk_points PRIMARY KEY (series, run, place), 
	CONSTRAINT fk_points_run FOREIGN KEY(run) REFERENCES runs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_points_series FOREIGN KEY(series) REFERENCES series (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "points" VALUES(1,1,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(2,1,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(3,1,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(4,3,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,4,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,5,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,6,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,7,0,'ok',166667,50.0,50.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,8,0,'ok',166667,75.0,75.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,9,0,'ok',166667,75.0,75.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(4,10,0,'ok',166667,75.0,75.0,NULL,NULL,NULL);
INSERT INTO "points" VALUES(5,3,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(5,4,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(5,5,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(5,6,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(5,7,1,'ok',17858,550.0,550.0,550.0,550.0,NULL);
INSERT INTO "points" VALUES(5,8,1,'ok',17858,825.0,825.0,825.0,825.0,NULL);
INSERT INTO "points" VALUES(5,9,1,'ok',17858,825.0,825.0,825.0,825.0,NULL);
INSERT INTO "points" VALUES(5,10,1,'ok',17858,825.0,825.0,825.0,825.0,NULL);
INSERT INTO "points" VALUES(6,3,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(6,4,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(6,5,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(6,6,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(6,7,2,'ok',20,900.0,NULL,NULL,900.0,0);
INSERT INTO "points" VALUES(6,8,2,'ok',20,1350.0,NULL,NULL,1350.0,0);
INSERT INTO "points" VALUES(6,9,2,'ok',20,1350.0,NULL,NULL,1350.0,0);
INSERT INTO "points" VALUES(6,10,2,'ok',20,1350.0,NULL,NULL,1350.0,0);
CREATE TABLE projects (
	id INTEGER NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	CONSTRAINT pk_projects PRIMARY KEY (id), 
	CONSTRAINT uq_projects_name UNIQUE (name)
);
INSERT INTO "projects" VALUES(1,'lab');
INSERT INTO "projects" VALUES(2,'main');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	project INTEGER NOT NULL, 
	run_id VARCHAR(200) NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	created VARCHAR(64) NOT NULL, 
	begun FLOAT NOT NULL, 
	arrived FLOAT NOT NULL, 
	target VARCHAR(400) NOT NULL, 
	series_target VARCHAR(400) NOT NULL, 
	kernel VARCHAR(400), 
	suite VARCHAR(200), 
	label VARCHAR(400), 
	campaign VARCHAR(200), 
	status VARCHAR(20) NOT NULL, 
	ok INTEGER NOT NULL, 
	results INTEGER NOT NULL, 
	grade VARCHAR(8) NOT NULL, 
	verdict TEXT NOT NULL, 
	CONSTRAINT pk_runs PRIMARY KEY (id), 
	CONSTRAINT fk_runs_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE, 
	CONSTRAINT uq_runs_project_run_id UNIQUE (project, run_id)
);
INSERT INTO "runs" VALUES(1,1,'20261101-x','9552560275d3aa3b92e43c31642292ade40c96bd2fbb5e5d70aa43c682aa6737','2026-11-01T00:00:00+00:00',1793491200.0,1.79579706848907732965e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(3,2,'20261101-0','a46ec259b6d243b39671a86f733e0b567661cec0b3e7f35bc750794775ca436c','2026-11-01T00:00:00+00:00',1793491200.0,1.79579706848131203647e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(4,2,'20261101-1','9b5a89426924a30caa4f2e1c183488a45543c0cf67a6ec7d8832a900553c0087','2026-11-02T00:00:00+00:00',1793577600.0,1.79579706848175263403e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(5,2,'20261101-2','f0d78448a53058ffd595b59b113cd8d288f47ddd3a17d2fd264bacd08b0bebb5','2026-11-03T00:00:00+00:00',1793664000.0,1.79579706848217153548e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(6,2,'20261101-3','47c7e5e5cff3e0cd4683f9be6bfb9a05872e38a41378626d438e5a49b3d782ec','2026-11-04T00:00:00+00:00',1793750400.0,1.79579706848263621335e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(7,2,'20261101-4','7653066694530a566732c656e1aa55c6ec98d1c9ca536bb47fb150a287450bc7','2026-11-05T00:00:00+00:00',1793836800.0,1.79579706848303699497e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(8,2,'20261101-5','b7aeaf56b5eb7763e8bfedc8dbc1bbffa9c27f00b7755193945be83459afe0c1','2026-11-06T00:00:00+00:00',1793923200.0,1.79579706848346710209e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(9,2,'20261101-6','f99b8191e1a8bde230e5b19d67ea41b74a9cc703b6b052998287b5e5d2bbf691','2026-11-07T00:00:00+00:00',1794009600.0,1.79579706848808956141e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
INSERT INTO "runs" VALUES(10,2,'20261101-7','6e7380158bc8452dfbbf19a3e73b1802b85d08e8d17231dfd3223e6efd160776','2026-11-08T00:00:00+00:00',1794096000.0,1.79579706848851251605e+09,'sim','sim','Small RTOS',NULL,NULL,NULL,'complete',3,3,'good','Fit for a period of 1 ms, in the model, as far as was seen: none of 20 activations missed.');
CREATE TABLE series (
	id INTEGER NOT NULL, 
	project INTEGER NOT NULL, 
	"key" VARCHAR(16) NOT NULL, 
	target VARCHAR(400) NOT NULL, 
	identity TEXT NOT NULL, 
	bench VARCHAR(100) NOT NULL, 
	params TEXT NOT NULL, 
	series VARCHAR(200) NOT NULL, 
	load VARCHAR(400) NOT NULL, 
	unit VARCHAR(20) NOT NULL, 
	exact BOOLEAN NOT NULL, 
	label TEXT NOT NULL, 
	CONSTRAINT pk_series PRIMARY KEY (id), 
	CONSTRAINT fk_series_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE, 
	CONSTRAINT uq_series_project_key UNIQUE (project, "key")
);
INSERT INTO "series" VALUES(1,1,'52f539d951925b0e','sim','{"seed":"1"}','sched.yield','{"batch":0,"cache":"warm","config":"bound"}','','none','ns',1,'');
INSERT INTO "series" VALUES(2,1,'7571929e2ba52e47','sim','{"seed":"1"}','sem.post.higher','{"config":"bound","entity":"thread","type":"unnamed"}','','none','ns',1,'');
INSERT INTO "series" VALUES(3,1,'666e44987041b10a','sim','{"seed":"1"}','dk.periodic','{"align":-1,"config":"bound","distance":0,"period":1000000,"policy":"fifo","runtime":0,"tasks":1}','','none','ns',1,'');
INSERT INTO "series" VALUES(4,2,'52f539d951925b0e','sim','{"seed":"1"}','sched.yield','{"batch":0,"cache":"warm","config":"bound"}','','none','ns',1,'');
INSERT INTO "series" VALUES(5,2,'7571929e2ba52e47','sim','{"seed":"1"}','sem.post.higher','{"config":"bound","entity":"thread","type":"unnamed"}','','none','ns',1,'');
INSERT INTO "series" VALUES(6,2,'666e44987041b10a','sim','{"seed":"1"}','dk.periodic','{"align":-1,"config":"bound","distance":0,"period":1000000,"policy":"fifo","runtime":0,"tasks":1}','','none','ns',1,'');
CREATE TABLE tags (
	project INTEGER NOT NULL, 
	kind VARCHAR(8) NOT NULL, 
	value VARCHAR(400) NOT NULL, 
	run INTEGER NOT NULL, 
	CONSTRAINT pk_tags PRIMARY KEY (project, kind, value, run), 
	CONSTRAINT fk_tags_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE, 
	CONSTRAINT fk_tags_run FOREIGN KEY(run) REFERENCES runs (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "tags" VALUES(1,'bench','dk.periodic',1);
INSERT INTO "tags" VALUES(1,'bench','sched.yield',1);
INSERT INTO "tags" VALUES(1,'bench','sem.post.higher',1);
INSERT INTO "tags" VALUES(1,'flag','batched',1);
INSERT INTO "tags" VALUES(1,'kernel','Small RTOS',1);
INSERT INTO "tags" VALUES(1,'load','none',1);
INSERT INTO "tags" VALUES(1,'target','sim',1);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',3);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',3);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',3);
INSERT INTO "tags" VALUES(2,'flag','batched',3);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',3);
INSERT INTO "tags" VALUES(2,'load','none',3);
INSERT INTO "tags" VALUES(2,'target','sim',3);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',4);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',4);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',4);
INSERT INTO "tags" VALUES(2,'flag','batched',4);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',4);
INSERT INTO "tags" VALUES(2,'load','none',4);
INSERT INTO "tags" VALUES(2,'target','sim',4);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',5);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',5);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',5);
INSERT INTO "tags" VALUES(2,'flag','batched',5);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',5);
INSERT INTO "tags" VALUES(2,'load','none',5);
INSERT INTO "tags" VALUES(2,'target','sim',5);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',6);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',6);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',6);
INSERT INTO "tags" VALUES(2,'flag','batched',6);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',6);
INSERT INTO "tags" VALUES(2,'load','none',6);
INSERT INTO "tags" VALUES(2,'target','sim',6);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',7);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',7);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',7);
INSERT INTO "tags" VALUES(2,'flag','batched',7);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',7);
INSERT INTO "tags" VALUES(2,'load','none',7);
INSERT INTO "tags" VALUES(2,'target','sim',7);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',8);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',8);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',8);
INSERT INTO "tags" VALUES(2,'flag','batched',8);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',8);
INSERT INTO "tags" VALUES(2,'load','none',8);
INSERT INTO "tags" VALUES(2,'target','sim',8);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',9);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',9);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',9);
INSERT INTO "tags" VALUES(2,'flag','batched',9);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',9);
INSERT INTO "tags" VALUES(2,'load','none',9);
INSERT INTO "tags" VALUES(2,'target','sim',9);
INSERT INTO "tags" VALUES(2,'bench','dk.periodic',10);
INSERT INTO "tags" VALUES(2,'bench','sched.yield',10);
INSERT INTO "tags" VALUES(2,'bench','sem.post.higher',10);
INSERT INTO "tags" VALUES(2,'flag','batched',10);
INSERT INTO "tags" VALUES(2,'kernel','Small RTOS',10);
INSERT INTO "tags" VALUES(2,'load','none',10);
INSERT INTO "tags" VALUES(2,'target','sim',10);
CREATE TABLE targets (
	project INTEGER NOT NULL, 
	name VARCHAR(400) NOT NULL, 
	runs INTEGER NOT NULL, 
	last_run INTEGER NOT NULL, 
	last_begun FLOAT NOT NULL, 
	usual_gap FLOAT, 
	dirty FLOAT, 
	claimed FLOAT, 
	CONSTRAINT pk_targets PRIMARY KEY (project, name), 
	CONSTRAINT fk_targets_project FOREIGN KEY(project) REFERENCES projects (id) ON DELETE CASCADE
);
INSERT INTO "targets" VALUES(1,'sim',1,1,1793491200.0,NULL,NULL,NULL);
INSERT INTO "targets" VALUES(2,'sim',8,10,1794096000.0,86400.0,NULL,NULL);
CREATE TABLE tokens (
	id VARCHAR(16) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	project VARCHAR(64), 
	scope VARCHAR(8) NOT NULL, 
	created FLOAT NOT NULL, 
	expires FLOAT, 
	used FLOAT, 
	revoked FLOAT, 
	CONSTRAINT pk_tokens PRIMARY KEY (id)
);
INSERT INTO "tokens" VALUES('f6269120d08b','26ee445c0195b65ddef8c274ad820c9a35041ff04779928f9a9434c00288c27f','ci','lab','push',1.79579706932723689085e+09,NULL,1.79579706946692657472e+09,NULL);
INSERT INTO "tokens" VALUES('13e02a46d129','ed1d600e9badaf8771ba95b5d136fc9a13e2566c3b20f6879f24968f7144de5a','former',NULL,'read',1.79579706937201285361e+09,NULL,NULL,1.79579706942064785957e+09);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_deliveries_next ON deliveries (next);
CREATE INDEX ix_runs_project_begun ON runs (project, begun);
CREATE INDEX ix_runs_project_campaign ON runs (project, campaign);
CREATE INDEX ix_runs_project_series_target_begun ON runs (project, series_target, begun);
CREATE INDEX ix_series_project_target_bench ON series (project, target, bench);
CREATE INDEX ix_changes_project_verdict_begun ON changes (project, verdict, begun);
CREATE INDEX ix_points_run ON points (run);
CREATE INDEX ix_tags_run ON tags (run);
COMMIT;
